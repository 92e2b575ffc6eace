import { useSignal } from '@preact/signals'
import type { ServerDetails } from '../../../src/schemas/dashboard/servers.ts'
import { change, type ApiError } from '../api.ts'
import { useApp, useRights } from '../app-context.ts'
import { sentence } from '../format.ts'
import { Clock } from '../ui/time.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

const MINUTES = 60

/** Records the arguments and results of the server's calls for an hour, and shows while that is so. */
export function Recording({ server: { name, recorded_until: until } }: { server: ServerDetails }) {
  const { store } = useApp()
  const { administer } = useRights()
  const busy = useSignal(false)
  const failure = useSignal('')
  const send = async (method: 'PUT' | 'DELETE') => {
    busy.value = true
    failure.value = ''
    try {
      const route = `/api/v0/servers/${encodeURIComponent(name)}/recording`
      await change(method, route, method === 'PUT' ? { minutes: MINUTES } : undefined)
      await store.refresh()
    } catch (error) {
      failure.value = sentence((error as ApiError).message)
    }
    busy.value = false
  }
  if (!administer && !until) return null
  return (
    <div class="actions" role="group" aria-label="Recording">
      {until ? (
        <>
          <span role="status">
            Arguments and results of its calls are recorded until <Clock at={until} />.
          </span>
          {administer && (
            <button type="button" class="btn" disabled={busy.value} onClick={() => void send('DELETE')}>
              Stop recording
            </button>
          )}
        </>
      ) : (
        <button type="button" class="btn" disabled={busy.value} onClick={() => void send('PUT')}>
          Record contents of calls for 1 hour
        </button>
      )}
      {failure.value && (
        <p class="err" role="alert">
          <UntrustedText text={failure.value} />
        </p>
      )}
    </div>
  )
}
