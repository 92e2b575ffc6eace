import { useSignal } from '@preact/signals'
import type { ServerDetails } from '../../../src/schemas/dashboard/servers.ts'
import { change, type ApiError } from '../api.ts'
import { useApp, useRights } from '../app-context.ts'
import { plural, sentence } from '../format.ts'
import { link } from '../router.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'

const choices = [
  ['follow', 'follow: served at once'],
  ['pin', 'pin: the accepted ones are served'],
  ['block', 'block: changed items are not served']
] as const

/** Policy for definitions of the server that differ from the accepted ones; administrators change it. */
export function DefinitionPolicy({ server }: { server: ServerDetails }) {
  const { store, notice } = useApp()
  const { administer } = useRights()
  const busy = useSignal(false)
  const failure = useSignal('')
  const { name, definition_policy: policy, config_summary: config, held_count: held } = server
  if (policy === undefined) return null
  const own = config.definitions
  const set = async (next: string) => {
    busy.value = true
    failure.value = ''
    try {
      const route = `/api/v0/servers/${encodeURIComponent(name)}/definitions`
      await change('PUT', route, { policy: next === '' ? null : next })
      notice.value = 'The policy for definitions is changed'
      await store.refresh()
    } catch (error) {
      failure.value = sentence((error as ApiError).message)
    }
    busy.value = false
  }
  return (
    <div class="actions" role="group" aria-label="Policy for definitions">
      {administer ? (
        <label class="actions">
          Changed definitions
          <select
            class="in fit"
            value={own ?? ''}
            disabled={busy.value}
            onChange={(event) => void set(event.currentTarget.value)}
          >
            <option value="">as the gateway{own === undefined ? ` (${policy})` : ''}</option>
            {choices.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <span>Changed definitions: {choices.find(([value]) => value === policy)![1]}</span>
      )}
      {held > 0 && (
        <a class="btn quiet" href={link('definitions', '', { server: name })}>
          {plural(held, 'definition')} {held === 1 ? 'waits' : 'wait'} for a decision
        </a>
      )}
      {failure.value && (
        <p class="err" role="alert">
          <UntrustedText text={failure.value} />
        </p>
      )}
    </div>
  )
}
