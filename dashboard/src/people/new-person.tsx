import { useSignal } from '@preact/signals'
import type { Invitation, IssuedUser } from '../../../src/schemas/principal.ts'
import { roles, type Role } from '../../../src/domain/access/access.ts'
import { change } from '../api.ts'
import { useApp } from '../app-context.ts'
import { sentence } from '../format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { ShownOnce } from './shown-once.tsx'
import { roleNames } from './words.ts'

type Way = 'invite' | 'token'

/** Link or token of a new person, shown once. */
export interface Issued {
  readonly way: Way
  readonly secret: string
}

/** Invites a person to set a password; `role` counts for a new one. */
export async function invite(name: string, role?: Role): Promise<Issued> {
  const path = `/api/v0/users/${encodeURIComponent(name)}/invite`
  const { url } = await change<Invitation>('POST', path, role === undefined ? {} : { role })
  return { way: 'invite', secret: url }
}

async function create(name: string, role: Role): Promise<Issued> {
  const { access_token } = await change<IssuedUser>('POST', '/api/v0/users', { name, role })
  return { way: 'token', secret: access_token }
}

/** Replaces the static token of a person. */
export async function issueToken(name: string): Promise<Issued> {
  const { access_token } = await change<IssuedUser>('PUT', `/api/v0/users/${encodeURIComponent(name)}`, {})
  return { way: 'token', secret: access_token }
}

/** Invitation link or access token, shown once. */
export function IssuedOnce({ issued, onClose }: { issued: Issued; onClose: () => void }) {
  const { static_token: signsIn } = useApp().viewer.value.sign_in
  return issued.way === 'invite' ? (
    <ShownOnce title="Invitation" secret={issued.secret} copy="Copy link" onClose={onClose}>
      <p>
        <strong>Send this link now: it is not shown again.</strong> It works once and for 48 hours; on its page the
        person sets a password.
      </p>
    </ShownOnce>
  ) : (
    <ShownOnce title="Access token" secret={issued.secret} copy="Copy token" onClose={onClose}>
      <p>
        <strong>Copy it now: it is not shown again.</strong> It has all rights of the person's role over REST
        {signsIn && ', and signs in to this console for an hour'}.
      </p>
    </ShownOnce>
  )
}

function PersonForm({ onClose, onIssued }: { onClose: () => void; onIssued: (issued: Issued) => void }) {
  const { store, viewer } = useApp()
  const { password: canInvite } = viewer.value.sign_in
  const name = useSignal('')
  const role = useSignal<Role>('user')
  const way = useSignal<Way>(canInvite ? 'invite' : 'token')
  const failure = useSignal('')
  const busy = useSignal(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    busy.value = true
    failure.value = ''
    try {
      onIssued(await (way.value === 'invite' ? invite : create)(name.value.trim(), role.value))
      void store.refresh(new Set(['people']))
    } catch (error) {
      failure.value = sentence((error as Error).message)
      busy.value = false
    }
  }
  return (
    <Dialog title="New person" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void submit(event)}>
        {canInvite && (
          <Segmented
            label="How the person signs in"
            current={way.value}
            onSelect={(next) => (way.value = next)}
            options={[
              { id: 'invite', label: 'Invitation' },
              { id: 'token', label: 'Static token' }
            ]}
          />
        )}
        <p class="muted">
          {way.value === 'invite'
            ? 'The person gets a link to set a password. Those who sign in at your identity provider need none.'
            : 'The person gets a static token. Those who sign in at your identity provider need none.'}
        </p>
        {!canInvite && (
          <p class="muted">
            Passwords are switched off here: invitations need <code>TOWPATH_LOCAL_SIGN_IN=on</code>.
          </p>
        )}
        <Field label="Name" help="Letters, digits, - and _">
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
        <Field label="Role">
          {(attributes) => (
            <select
              {...attributes}
              class="in fit"
              value={role.value}
              onChange={(event) => (role.value = event.currentTarget.value as Role)}
            >
              {roles.toReversed().map((each) => (
                <option key={each} value={each}>
                  {roleNames[each]}
                </option>
              ))}
            </select>
          )}
        </Field>
        {failure.value && (
          <p class="err" role="alert">
            <UntrustedText text={failure.value} />
          </p>
        )}
        <div class="actions end">
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="btn primary" disabled={busy.value}>
            {way.value === 'invite' ? 'Invite' : 'Create'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** Dialog that invites a person or creates one with a static token. */
export function NewPerson({ onClose }: { onClose: () => void }) {
  const issued = useSignal<Issued | undefined>(undefined)
  return issued.value ? (
    <IssuedOnce issued={issued.value} onClose={onClose} />
  ) : (
    <PersonForm onClose={onClose} onIssued={(made) => (issued.value = made)} />
  )
}
