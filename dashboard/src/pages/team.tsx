import type { Policy } from '../../../src/schemas/policy.ts'
import { change } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import type { PageProps } from '../pages.ts'
import { ActionButton } from '../people/action-button.tsx'
import { policiesNaming } from '../people/policies-naming.ts'
import { Groups, Members } from '../people/team-parts.tsx'
import { PolicyLink } from '../policies/policy-link.tsx'
import { EffectTag, PolicyState, stateOf } from '../policies/state.tsx'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'

const columns: readonly Column<Policy>[] = [
  {
    key: 'policy',
    label: 'Policy',
    kind: 'wrap',
    value: ({ name }) => name,
    cell: ({ name }) => <PolicyLink name={name} />
  },
  {
    key: 'effect',
    label: 'Effect',
    value: ({ effect }) => effect,
    cell: ({ effect }) => <EffectTag effect={effect} />
  },
  { key: 'state', label: 'State', value: stateOf, cell: (policy) => <PolicyState {...policy} /> }
]

function Policies({ name, query }: PageProps) {
  const policies = useSource(sources.policies)
  return (
    <section class="below stack">
      <h2>Policies that name this team</h2>
      <AsyncContent resource={policies} subject="The policies" rows={2}>
        {(all) => {
          const found = policiesNaming(all, name)
          return found.length === 0 ? (
            <p class="muted">No policy names this team.</p>
          ) : (
            <SortedTable
              label="Policies"
              rows={found}
              columns={columns}
              keyOf={(each) => each.name}
              query={query}
              opens
            />
          )
        }}
      </AsyncContent>
    </section>
  )
}

/** Members and groups of a team, and the policies that name it. */
export function Team({ name, query }: PageProps) {
  const { store, location, viewer } = useApp()
  const team = useSource(sources.team(name))
  const title = untrustedText(name)
  const remove = async () => {
    const path = `/api/v0/teams/${encodeURIComponent(name)}`
    await store.whileDeleting(sources.team(name), () => change('DELETE', path))
    location.navigate(link('teams'))
  }
  return (
    <>
      <PageHead
        title={title}
        heading={<UntrustedText text={name} />}
        crumb={
          <>
            <a href={link('teams')}>Teams</a> <span aria-hidden="true">/</span>
          </>
        }
      >
        {viewer.value.may.administer && team.data.value && (
          <ActionButton
            label="Delete team"
            title={`Delete ${title}?`}
            isDangerous
            done={`${title} is deleted`}
            onConfirm={remove}
          >
            <p>Its people stay. Policies that name it stay too, and count for nobody of it.</p>
          </ActionButton>
        )}
      </PageHead>
      <AsyncContent resource={team} subject="The team">
        {(data) => (
          <>
            <Members team={data} query={query} />
            <Groups team={data} query={query} />
            <Policies name={name} query={query} />
          </>
        )}
      </AsyncContent>
    </>
  )
}
