import { useSignal } from '@preact/signals'
import type { UserDetails } from '../../../src/schemas/principal.ts'
import { roles, type Role } from '../../../src/domain/access/access.ts'
import { change } from '../api.ts'
import { useApp } from '../app-context.ts'
import { sentence } from '../format.ts'
import { untrustedText } from '../ui/untrusted-text.tsx'
import { ActionButton } from './action-button.tsx'
import { invite, IssuedOnce, issueToken, type Issued } from './new-person.tsx'
import { roleNames } from './words.ts'

const pathOf = (name: string, ...rest: readonly string[]) =>
  ['/api/v0/users', encodeURIComponent(name), ...rest].join('/')

/** Choice of the role; changing it ends what the person has open. */
export function RoleChoice({ user: { name, role } }: { user: UserDetails }) {
  const { store, notice } = useApp()
  const failure = useSignal('')
  const choose = async (next: Role) => {
    failure.value = ''
    try {
      await change('PUT', pathOf(name, 'role'), { role: next })
      notice.value = `${untrustedText(name)} is now: ${roleNames[next]}`
    } catch (error) {
      failure.value = sentence((error as Error).message)
    }
    await store.refresh(new Set(['people']))
  }
  return (
    <>
      <select
        class="in fit"
        aria-label="Role"
        value={role}
        onChange={(event) => void choose(event.currentTarget.value as Role)}
      >
        {roles.map((each) => (
          <option key={each} value={each}>
            {roleNames[each]}
          </option>
        ))}
      </select>
      {failure.value && (
        <span class="err blk" role="alert">
          {failure.value}
        </span>
      )}
    </>
  )
}

/** What an administrator may do with a person. */
export function PersonActions({ user: { name, source, suspended } }: { user: UserDetails }) {
  const issued = useSignal<Issued | undefined>(undefined)
  const { password: canInvite } = useApp().viewer.value.sign_in
  const title = untrustedText(name)
  return (
    <>
      {suspended ? (
        <ActionButton
          label="Activate"
          title={`Activate ${title}?`}
          done={`${title} is active`}
          onConfirm={() => change('POST', pathOf(name, 'resume'))}
        >
          <p>The person may sign in again, and access tokens count again.</p>
        </ActionButton>
      ) : (
        <ActionButton
          label="Suspend"
          title={`Suspend ${title}?`}
          isDangerous
          done={`${title} is suspended`}
          onConfirm={() => change('POST', pathOf(name, 'suspend'))}
        >
          <p>All tokens are refused, and sessions, streams and calls end, until you activate the person.</p>
        </ActionButton>
      )}
      <ActionButton
        label="End sessions"
        title={`End all sessions of ${title}?`}
        done={`The sessions of ${title} have ended`}
        onConfirm={() => change('DELETE', pathOf(name, 'sessions'))}
      >
        <p>Ends all browser sessions and disconnects all clients. Access tokens stay.</p>
      </ActionButton>
      {canInvite && !suspended && (source === 'local' || source === 'static') && (
        <ActionButton
          label="Invite"
          title={`Invite ${title}?`}
          done="The invitation is made"
          onConfirm={async () => (issued.value = await invite(name))}
        >
          <p>You get a link with which the person sets a password. An earlier link stops working.</p>
        </ActionButton>
      )}
      <ActionButton
        label="Issue static token"
        title={`Issue a static token for ${title}?`}
        done="The token is issued"
        onConfirm={async () => (issued.value = await issueToken(name))}
      >
        <p>A static token that the person has stops working at once. Personal access tokens stay.</p>
      </ActionButton>
      {issued.value && <IssuedOnce issued={issued.value} onClose={() => (issued.value = undefined)} />}
    </>
  )
}
