import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { Team } from '../../../src/schemas/team.ts'
import { change } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { sentence } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'

type Member = Team['members'][number]
type Replacement = Pick<Team, 'members' | 'groups'>

/** Returns a function that replaces members and groups of a team; it throws an error with the reason. */
function useReplace({ name }: Team): (next: Replacement) => Promise<void> {
  const { store } = useApp()
  return async ({ members, groups }) => {
    await change('PUT', `/api/v0/teams/${encodeURIComponent(name)}`, { members, groups })
    await store.refresh(new Set(['people']))
  }
}

interface AddFormProps {
  readonly label: string
  readonly button: string
  /** Names that are offered. */
  readonly offered: readonly string[]
  readonly onAdd: (text: string) => Promise<void>
}

function AddForm({ label, button, offered, onAdd }: AddFormProps) {
  const id = useId()
  const text = useSignal('')
  const failure = useSignal('')
  const add = async (event: Event) => {
    event.preventDefault()
    failure.value = ''
    try {
      await onAdd(text.value.trim())
      text.value = ''
    } catch (error) {
      failure.value = sentence((error as Error).message)
    }
  }
  return (
    <form class="stack" onSubmit={(event) => void add(event)}>
      <div class="actions">
        <input
          class="in fit"
          aria-label={label}
          placeholder={label}
          list={id}
          required
          autocomplete="off"
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        <datalist id={id}>
          {offered.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <button type="submit" class="btn">
          {button}
        </button>
      </div>
      {failure.value && (
        <p class="err" role="alert">
          <UntrustedText text={failure.value} />
        </p>
      )}
    </form>
  )
}

interface PartProps {
  readonly team: Team
  readonly query: Readonly<Record<string, string>>
}

function RemoveButton({ name, onRemove }: { name: string; onRemove: () => Promise<void> }) {
  const failure = useSignal('')
  const remove = async () => {
    failure.value = ''
    await onRemove().catch((error: unknown) => (failure.value = sentence((error as Error).message)))
  }
  return (
    <div class="actions right">
      {failure.value && (
        <span class="err" role="alert">
          <UntrustedText text={failure.value} />
        </span>
      )}
      <button
        type="button"
        class="btn quiet sm"
        aria-label={`Remove ${untrustedText(name)}`}
        onClick={() => void remove()}
      >
        Remove
      </button>
    </div>
  )
}

const teamRoles = { member: 'Member', manager: 'Manager' } as const satisfies Readonly<Record<Member['role'], string>>

interface RoleChoiceProps {
  readonly member: Member
  readonly onChoose: (role: Member['role']) => Promise<void>
}

/** Choice between member and manager; keeps the stored role if the change is refused. */
function RoleChoice({ member: { user, role }, onChoose }: RoleChoiceProps) {
  const failure = useSignal('')
  const choose = async (select: HTMLSelectElement) => {
    failure.value = ''
    try {
      await onChoose(select.value as Member['role'])
    } catch (error) {
      failure.value = sentence((error as Error).message)
      select.value = role
    }
  }
  return (
    <>
      <select
        class="in fit"
        aria-label={`Role of ${untrustedText(user)} in the team`}
        value={role}
        onChange={(event) => void choose(event.currentTarget)}
      >
        {(Object.keys(teamRoles) as Member['role'][]).map((each) => (
          <option key={each} value={each}>
            {teamRoles[each]}
          </option>
        ))}
      </select>
      {failure.value && (
        <span class="err blk" role="alert">
          <UntrustedText text={failure.value} />
        </span>
      )}
    </>
  )
}

const memberColumns = (roleCell: (member: Member) => preact.ComponentChildren): readonly Column<Member>[] => [
  {
    key: 'user',
    label: 'Name',
    kind: 'wrap',
    value: ({ user }) => user,
    cell: ({ user }) => (
      <a class="name" href={link('person', user)} data-row>
        <UntrustedText text={user} />
      </a>
    )
  },
  {
    key: 'role',
    label: 'Role in the team',
    value: ({ role }) => teamRoles[role],
    cell: roleCell
  }
]

/** People who are in a team whatever their groups are. */
export function Members({ team, query }: PartProps) {
  const { may } = useApp().viewer.value
  const replace = useReplace(team)
  const people = useSource(sources.users).data.value ?? []
  const { members, groups } = team
  const setRole = (user: string, role: Member['role']) =>
    replace({ members: members.map((each) => (each.user === user ? { user, role } : each)), groups })
  const columns = memberColumns((member) =>
    may.administer ? (
      <RoleChoice member={member} onChoose={(role) => setRole(member.user, role)} />
    ) : (
      teamRoles[member.role]
    )
  )
  const actions: Column<Member> = {
    key: 'actions',
    label: 'Actions',
    cell: ({ user }) => (
      <RemoveButton
        name={user}
        onRemove={() => replace({ members: members.filter((each) => each.user !== user), groups })}
      />
    )
  }
  return (
    <section class="below stack">
      <h2>Members</h2>
      <p class="muted">Managers are the people to ask about the team. The role gives no rights.</p>
      {members.length === 0 ? (
        <p class="muted">Nobody is a member by hand.</p>
      ) : (
        <SortedTable
          label="Members of the team"
          rows={members}
          columns={may.administer ? [...columns, actions] : columns}
          keyOf={({ user }) => user}
          query={query}
          member="members"
          opens
        />
      )}
      {may.administer && (
        <AddForm
          label="Name of a person"
          button="Add member"
          offered={people.map(({ name }) => name).filter((name) => !members.some(({ user }) => user === name))}
          onAdd={(user) => replace({ members: [...members, { user, role: 'member' }], groups })}
        />
      )}
    </section>
  )
}

/** Groups of the identity provider whose people are in a team. */
export function Groups({ team, query }: PartProps) {
  const { may } = useApp().viewer.value
  const replace = useReplace(team)
  const people = useSource(sources.users).data.value ?? []
  const { members, groups } = team
  const known = [...new Set(people.flatMap((each) => each.groups))].filter((group) => !groups.includes(group))
  const columns: readonly Column<string>[] = [
    {
      key: 'group',
      label: 'Group',
      kind: 'wrap',
      value: (group) => group,
      cell: (group) => <UntrustedText text={group} />
    },
    {
      key: 'people',
      label: 'People known here',
      kind: 'num',
      value: (group) => people.filter((each) => each.groups.includes(group)).length,
      cell: (group) => people.filter((each) => each.groups.includes(group)).length
    }
  ]
  const actions: Column<string> = {
    key: 'actions',
    label: 'Actions',
    cell: (group) => (
      <RemoveButton
        name={group}
        onRemove={() => replace({ members, groups: groups.filter((each) => each !== group) })}
      />
    )
  }
  return (
    <section class="below stack">
      <h2>Groups</h2>
      {groups.length === 0 ? (
        <p class="muted">No group of the identity provider belongs to the team.</p>
      ) : (
        <SortedTable
          label="Groups of the team"
          rows={groups}
          columns={may.administer ? [...columns, actions] : columns}
          keyOf={(group) => group}
          query={query}
          member="groups"
        />
      )}
      {may.administer && (
        <AddForm
          label="Name of a group"
          button="Add group"
          offered={known}
          onAdd={(group) => replace({ members, groups: [...groups, group] })}
        />
      )}
    </section>
  )
}
