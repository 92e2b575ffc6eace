import { useSignal } from '@preact/signals'
import type { Team } from '../../../src/schemas/team.ts'
import { change } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { sentence } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { policiesNaming } from '../people/policies-naming.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { matches, wordsOf } from '../tools/filter.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel } from '../ui/panels.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

function NewTeam({ onClose }: { onClose: () => void }) {
  const { location, store } = useApp()
  const name = useSignal('')
  const failure = useSignal('')
  const create = async (event: Event) => {
    event.preventDefault()
    failure.value = ''
    try {
      await change('POST', '/api/v0/teams', { name: name.value.trim() })
      void store.refresh(new Set(['people']))
      location.navigate(link('team', name.value.trim()))
    } catch (error) {
      failure.value = sentence((error as Error).message)
    }
  }
  return (
    <Dialog title="New team" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void create(event)}>
        <Field label="Name" help="Policies name the team by it" error={failure.value || undefined}>
          {(attributes) => (
            <input
              {...attributes}
              class="in"
              required
              autofocus
              autocomplete="off"
              value={name.value}
              onInput={(event) => (name.value = event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="actions end">
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="btn primary">
            Create team
          </button>
        </div>
      </form>
    </Dialog>
  )
}

function TeamTable({ teams, query }: { teams: readonly Team[]; query: PageProps['query'] }) {
  const { location } = useApp()
  const policies = useSource(sources.policies).data.value
  const { q = '' } = query
  const countOf = ({ name }: Team) => policies && policiesNaming(policies, name).length
  const columns: readonly Column<Team>[] = [
    {
      key: 'name',
      label: 'Team',
      kind: 'wrap',
      value: ({ name }) => name,
      cell: ({ name }) => (
        <a class="name" href={link('team', name)} data-row>
          <UntrustedText text={name} />
        </a>
      )
    },
    {
      key: 'members',
      label: 'Members',
      kind: 'num',
      value: ({ members }) => members.length,
      cell: ({ members }) => members.length
    },
    {
      key: 'groups',
      label: 'Groups',
      kind: 'opt2 wrap',
      value: ({ groups }) => groups.join(', '),
      cell: ({ groups }) => <UntrustedText text={groups.join(', ')} />
    },
    {
      key: 'policies',
      label: 'Policies',
      kind: 'num',
      value: countOf,
      cell: (team) => countOf(team) ?? '—'
    }
  ]
  const found = teams.filter(({ name, groups, members }) =>
    matches([name, ...groups, ...members.map(({ user }) => user)].join(' '), wordsOf(q))
  )
  return (
    <>
      <div class="bar">
        <SearchBox
          label="Filter teams"
          placeholder="Filter by team, person or group"
          value={q}
          onInput={(text) => location.setQuery({ q: text })}
        />
      </div>
      {found.length === 0 ? (
        <p class="muted">No team matches.</p>
      ) : (
        <SortedTable label="Teams" rows={found} columns={columns} keyOf={({ name }) => name} query={query} opens />
      )}
    </>
  )
}

/** Teams: people who are subjects of policies together. */
export function Teams({ query }: PageProps) {
  const teams = useSource(sources.teams)
  const { may } = useApp().viewer.value
  const isCreating = useSignal(false)
  return (
    <>
      <PageHead
        title="Teams"
        sub="People whom policies name together: by hand, or by groups of your identity provider."
      >
        {may.administer && (
          <button type="button" class="btn primary" data-new onClick={() => (isCreating.value = true)}>
            New team
          </button>
        )}
      </PageHead>
      <AsyncContent resource={teams} subject="The teams">
        {(list) =>
          list.length === 0 ? (
            <EmptyPanel title="There are no teams yet">
              <p>A team has members of its own, and everybody in the groups that you give it.</p>
            </EmptyPanel>
          ) : (
            <TeamTable teams={list} query={query} />
          )
        }
      </AsyncContent>
      {isCreating.value && <NewTeam onClose={() => (isCreating.value = false)} />}
    </>
  )
}
