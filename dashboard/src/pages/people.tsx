import { useSignal } from '@preact/signals'
import type { UserDetails } from '../../../src/schemas/principal.ts'
import { useApp, useSource } from '../app-context.ts'
import type { PageProps } from '../pages.ts'
import { NewPerson } from '../people/new-person.tsx'
import { RoleReason } from '../people/role-reason.tsx'
import { roleNames, sourceNames } from '../people/words.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { matches, wordsOf } from '../tools/filter.ts'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel } from '../ui/panels.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { Status } from '../ui/status.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

const stateOf = ({ suspended }: UserDetails): string => (suspended ? 'Suspended' : 'Active')

const columns: readonly Column<UserDetails>[] = [
  {
    key: 'name',
    label: 'Name',
    kind: 'wrap',
    value: ({ name }) => name,
    cell: ({ name, display_name, email }) => (
      <>
        <a class="name" href={link('person', name)} data-row>
          <UntrustedText text={name} />
        </a>
        {(display_name ?? email) !== undefined && (
          <span class="help blk wrap">
            <UntrustedText text={[display_name, email].filter(Boolean).join(', ')} />
          </span>
        )}
      </>
    )
  },
  {
    key: 'source',
    label: 'From',
    kind: 'opt2',
    value: ({ source }) => sourceNames[source],
    cell: ({ source }) => sourceNames[source]
  },
  {
    key: 'groups',
    label: 'Groups',
    kind: 'opt wrap',
    value: ({ groups }) => groups.join(', '),
    cell: ({ groups }) => <UntrustedText text={groups.join(', ')} />
  },
  {
    key: 'role',
    label: 'Role',
    kind: 'wrap',
    value: ({ role }) => roleNames[role],
    cell: (user) => (
      <>
        {roleNames[user.role]}
        <span class="help blk opt2">
          <RoleReason user={user} />
        </span>
      </>
    )
  },
  {
    key: 'seen',
    label: 'Last seen',
    kind: 'opt2 nowrap',
    value: ({ last_seen_on: day }) => day,
    cell: ({ last_seen_on: day }) => day ?? '—'
  },
  {
    key: 'state',
    label: 'State',
    value: stateOf,
    cell: (user) => <Status tone={user.suspended ? 'off' : 'ok'} word={stateOf(user)} />
  }
]

const textOf = ({ name, display_name = '', email = '', groups, teams }: UserDetails): string =>
  [name, display_name, email, ...groups, ...teams].join(' ')

const states = ['all', 'admin', 'auditor', 'suspended'] as const
type State = (typeof states)[number]

const fits: Readonly<Record<State, (user: UserDetails) => boolean>> = {
  all: () => true,
  admin: ({ role }) => role === 'admin',
  auditor: ({ role }) => role === 'auditor',
  suspended: ({ suspended }) => suspended === true
}

function PeopleTable({ users, query }: { users: readonly UserDetails[]; query: PageProps['query'] }) {
  const { location } = useApp()
  const { q = '' } = query
  const state = states.find((each) => each === query.state) ?? 'all'
  const found = users.filter((user) => fits[state](user) && matches(textOf(user), wordsOf(q)))
  const countOf = (wanted: State) => users.filter(fits[wanted]).length
  return (
    <>
      <div class="bar">
        <SearchBox
          label="Filter people"
          placeholder="Filter by name, group or team"
          value={q}
          onInput={(text) => location.setQuery({ q: text })}
        />
        <Segmented
          label="Kind of people"
          current={state}
          onSelect={(next) => location.setQuery({ state: next === 'all' ? undefined : next })}
          options={[
            { id: 'all', label: 'All' },
            { id: 'admin', label: 'Admins', count: countOf('admin') },
            { id: 'auditor', label: 'Auditors', count: countOf('auditor') },
            { id: 'suspended', label: 'Suspended', count: countOf('suspended') }
          ]}
        />
      </div>
      {found.length === 0 ? (
        <EmptyPanel title="Nobody matches">
          <button type="button" class="btn" onClick={() => location.setQuery({ q: undefined, state: undefined })}>
            Clear
          </button>
        </EmptyPanel>
      ) : (
        <SortedTable label="People" rows={found} columns={columns} keyOf={({ name }) => name} query={query} opens />
      )}
    </>
  )
}

/** People who may use the gateway. */
export function People({ query }: PageProps) {
  const users = useSource(sources.users)
  const { viewer } = useApp()
  const isCreating = useSignal(false)
  return (
    <>
      <PageHead title="People" sub="Who may use this gateway, where they come from, and what they may do.">
        {viewer.value.may.administer && (
          <button type="button" class="btn primary" data-new onClick={() => (isCreating.value = true)}>
            New person
          </button>
        )}
      </PageHead>
      <AsyncContent resource={users} subject="The people">
        {(list) => <PeopleTable users={list} query={query} />}
      </AsyncContent>
      {isCreating.value && <NewPerson onClose={() => (isCreating.value = false)} />}
    </>
  )
}
