import { useSignal } from '@preact/signals'
import { startCostText, type KeepingMode } from '../../../src/domain/start-cost.ts'
import type { ServerDetails } from '../../../src/schemas/dashboard/servers.ts'
import { path, send, type ApiError } from '../api.ts'
import { useApp, useRights } from '../app-context.ts'
import { sentence } from '../format.ts'
import { link } from '../router.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { formOf, toUpdate } from './server-form.ts'

const offers: Readonly<
  Record<KeepingMode, { readonly action: string; readonly meaning: string; readonly done: string }>
> = {
  stateful: {
    action: 'Keep one for each client',
    meaning:
      'The server may remember what a client did before, and no client sees what another left there. Each client needs one of its own.',
    done: 'keeps one for each client'
  },
  shared: {
    action: 'Share one between all',
    meaning:
      'All clients use the same one: what one leaves there, another may find. Only for servers that keep nothing of anybody.',
    done: 'shares one between all'
  }
}

/** Says that a server's starts cost more than its calls; administrators change the session mode with one click. */
export function StartCost({ server }: { server: ServerDetails }) {
  const { store, notice } = useApp()
  const { administer } = useRights()
  const busy = useSignal<KeepingMode | undefined>(undefined)
  const failure = useSignal('')
  const { name, transport, start_cost: cost } = server
  if (!cost) return null
  const change = async (mode: KeepingMode) => {
    busy.value = mode
    failure.value = ''
    try {
      const body = toUpdate({ ...formOf(server), session_mode: mode })
      const { status } = await send('PUT', path('servers', name), { body })
      if (status === 202) failure.value = 'The server asks for a new sign-in first: sign in on the tab Settings'
      else notice.value = `${name} ${offers[mode].done}`
      await store.refresh()
    } catch (error) {
      failure.value = (error as ApiError).message
    }
    busy.value = undefined
  }
  return (
    <section class="panel hint" aria-label="Cost of starts">
      <p>
        <strong>{sentence(startCostText(transport, cost))}</strong> In the session mode stateless each call needs a
        fresh one.
      </p>
      <ul class={administer ? 'offers' : 'stack'}>
        {cost.session_modes.map((mode) => (
          <li key={mode}>
            {administer && (
              <button
                type="button"
                class="btn"
                disabled={busy.value !== undefined}
                aria-describedby={`meaning-${mode}`}
                onClick={() => void change(mode)}
              >
                {busy.value === mode ? 'Changing…' : offers[mode].action}
              </button>
            )}
            <span id={`meaning-${mode}`} class="help">
              {!administer && <strong>{mode}: </strong>}
              {offers[mode].meaning}
            </span>
          </li>
        ))}
      </ul>
      {failure.value && (
        <p class="err" role="alert">
          <UntrustedText text={sentence(failure.value)} />{' '}
          <a href={link('server', name, { tab: 'settings' })}>Settings</a>
        </p>
      )}
    </section>
  )
}
