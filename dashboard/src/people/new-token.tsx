import { useSignal, type Signal } from '@preact/signals'
import { scopesFor, type Role, type TokenScope } from '../../../src/domain/access/access.ts'
import type { IssuedAccessToken } from '../../../src/schemas/access-token.ts'
import { change } from '../api.ts'
import { useApp } from '../app-context.ts'
import { sentence } from '../format.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { ShownOnce } from './shown-once.tsx'

const DAY_MS = 86_400_000
const lives = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', 'a year'],
  ['', 'never']
] as const

const meaning: Readonly<Partial<Record<TokenScope, string>>> = {
  mcp: 'connect a client to MCP endpoints',
  'towpath:read': 'read over REST',
  'towpath:call': 'call tools over REST',
  'towpath:admin': 'everything over REST'
}

interface Draft {
  readonly name: Signal<string>
  readonly scopes: Signal<readonly string[]>
  /** Scopes that policies require, separated by spaces. */
  readonly others: Signal<string>
  readonly days: Signal<string>
}

function Scopes({ role, draft }: { role: Role; draft: Draft }) {
  const { scopes } = draft
  return (
    <fieldset>
      <legend class="lbl">Scopes</legend>
      {scopesFor(role).map((scope) => (
        <label key={scope} class="check">
          <input
            type="checkbox"
            class="cb"
            checked={scopes.value.includes(scope)}
            onChange={(event) => {
              const rest = scopes.value.filter((each) => each !== scope)
              scopes.value = event.currentTarget.checked ? [...rest, scope] : rest
            }}
          />
          <span>
            <code>{scope}</code> <span class="muted">{meaning[scope]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

const bodyOf = ({ name, scopes, others, days }: Draft) => ({
  name: name.value.trim(),
  scopes: [...scopes.value, ...others.value.split(/[\s,]+/).filter(Boolean)],
  ...(days.value !== '' && { expires_at: new Date(Date.now() + Number(days.value) * DAY_MS).toISOString() })
})

interface NewTokenProps {
  readonly onClose: () => void
}

function TokenForm({ onClose, onCreated }: NewTokenProps & { onCreated: (token: IssuedAccessToken) => void }) {
  const { viewer, store } = useApp()
  const role = viewer.value.role as Role
  const draft: Draft = {
    name: useSignal(''),
    scopes: useSignal<readonly string[]>([scopesFor(role)[0]!]),
    others: useSignal(''),
    days: useSignal('90')
  }
  const failure = useSignal('')
  const busy = useSignal(false)
  const create = async (event: Event) => {
    event.preventDefault()
    busy.value = true
    failure.value = ''
    try {
      onCreated(await change<IssuedAccessToken>('POST', '/api/v0/me/tokens', bodyOf(draft)))
      void store.refresh(new Set(['people']))
    } catch (error) {
      failure.value = sentence((error as Error).message)
      busy.value = false
    }
  }
  return (
    <Dialog title="New access token" onClose={onClose}>
      <form class="stack" onSubmit={(event) => void create(event)}>
        <Field label="Name" help="To know it by later, such as laptop">
          {(attributes) => (
            <input
              {...attributes}
              class="in"
              required
              autofocus
              autocomplete="off"
              value={draft.name.value}
              onInput={(event) => (draft.name.value = event.currentTarget.value)}
            />
          )}
        </Field>
        <Scopes role={role} draft={draft} />
        {role !== 'auditor' && (
          <Field label="Scopes of policies" note="optional" help="Such as mcp:write, if a policy asks for it">
            {(attributes) => (
              <input
                {...attributes}
                class="in mono"
                autocomplete="off"
                value={draft.others.value}
                onInput={(event) => (draft.others.value = event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        <Field label="Expires">
          {(attributes) => (
            <select
              {...attributes}
              class="in fit"
              value={draft.days.value}
              onChange={(event) => (draft.days.value = event.currentTarget.value)}
            >
              {lives.map(([days, text]) => (
                <option key={days} value={days}>
                  {days === '' ? text : `in ${text}`}
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
            Create token
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** Dialog that creates a personal access token, and shows it once. */
export function NewToken({ onClose }: NewTokenProps) {
  const created = useSignal<IssuedAccessToken | undefined>(undefined)
  if (!created.value) return <TokenForm onClose={onClose} onCreated={(token) => (created.value = token)} />
  return (
    <ShownOnce title="Your new token" secret={created.value.access_token} copy="Copy token" onClose={onClose}>
      <p>
        <strong>Copy it now: it is not shown again.</strong> It has the rights of its scopes, and never more than your
        role.
      </p>
    </ShownOnce>
  )
}
