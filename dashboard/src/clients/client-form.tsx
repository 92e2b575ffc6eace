import { useSignal } from '@preact/signals'
import type { Client } from '../../../src/schemas/principal.ts'
import { change } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { sentence } from '../format.ts'
import * as sources from '../sources.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

export const clientPath = (name: string): string => `/api/v0/clients/${encodeURIComponent(name)}`

/** Entry of an allow list that stands for all servers. */
export const ALL = '*'

interface AllowListProps {
  readonly allowed: readonly string[]
  readonly onChange: (allowed: readonly string[]) => void
}

/** Checkboxes of servers. Allowed servers that do not exist stay in the list. */
function AllowList({ allowed, onChange }: AllowListProps) {
  const servers = useSource(sources.servers)
  const known = (servers.data.value?.servers ?? []).map(({ name }) => name)
  const names = [...new Set([...known, ...allowed.filter((name) => name !== ALL)])].toSorted()
  const toggle = (name: string, isOn: boolean) =>
    onChange(isOn ? [...allowed, name] : allowed.filter((each) => each !== name))
  const isAll = allowed.includes(ALL)
  return (
    <fieldset class="field">
      <legend class="lbl">Servers it may use</legend>
      <label class="check">
        <input
          type="checkbox"
          class="cb"
          checked={isAll}
          onChange={(event) => toggle(ALL, event.currentTarget.checked)}
        />
        All servers, also later ones
      </label>
      {!isAll &&
        names.map((name) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              class="cb"
              checked={allowed.includes(name)}
              onChange={(event) => toggle(name, event.currentTarget.checked)}
            />
            <code>
              <UntrustedText text={name} />
            </code>
            {!known.includes(name) && servers.data.value && <span class="muted"> does not exist</span>}
          </label>
        ))}
      <span class="help">Of all endpoints, also those of tool groups. Policies may narrow it.</span>
    </fieldset>
  )
}

interface ClientFormProps {
  /** Undefined for a new client. */
  readonly saved: Client | undefined
  readonly onClose: () => void
  /** Called with the token of a new client. */
  readonly onCreated: (name: string, token: string) => void
  readonly onRotate: () => void
  readonly onDelete: () => void
}

/** Dialog that makes or changes an MCP client. */
export function ClientForm({ saved, onClose, onCreated, onRotate, onDelete }: ClientFormProps) {
  const { store, notice } = useApp()
  const name = useSignal(saved?.name ?? '')
  const description = useSignal(saved?.description ?? '')
  const allowed = useSignal<readonly string[]>(saved?.allowed_servers ?? [])
  const failure = useSignal('')
  const save = async (event: Event) => {
    event.preventDefault()
    failure.value = ''
    const body = { description: description.value, allowed_servers: allowed.value }
    try {
      if (saved) await change('PUT', clientPath(saved.name), body)
      else {
        const path = '/api/v0/clients'
        const made = await change<{ access_token: string }>('POST', path, { name: name.value, ...body })
        onCreated(name.value, made.access_token)
      }
      notice.value = `MCP client ${name.value} saved`
      await store.refresh(new Set(['people']))
      if (saved) onClose()
    } catch (error) {
      failure.value = sentence((error as Error).message)
    }
  }
  return (
    <Dialog title={saved ? saved.name : 'New MCP client'} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void save(event)}>
        {!saved && (
          <Field label="Name" help="Letters, digits, - and _">
            {(attributes) => (
              <input
                {...attributes}
                class="in mono"
                required
                autofocus
                autocomplete="off"
                spellcheck={false}
                value={name.value}
                onInput={(event) => (name.value = event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        <Field label="Description" note="optional">
          {(attributes) => (
            <input
              {...attributes}
              class="in"
              autocomplete="off"
              value={description.value}
              onInput={(event) => (description.value = event.currentTarget.value)}
            />
          )}
        </Field>
        <AllowList allowed={allowed.value} onChange={(next) => (allowed.value = next)} />
        {failure.value && (
          <p class="err" role="alert">
            <UntrustedText text={failure.value} />
          </p>
        )}
        <div class="actions end">
          {saved && (
            <>
              <button type="button" class="btn danger" onClick={onDelete}>
                Delete
              </button>
              <button type="button" class="btn" onClick={onRotate}>
                Rotate token
              </button>
            </>
          )}
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="btn primary">
            {saved ? 'Save client' : 'Create client'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
