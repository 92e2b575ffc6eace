import { useSignal } from '@preact/signals'
import type { ServerTrial } from '../../../src/schemas/dashboard/servers.ts'
import { change, path, type ApiError, type Explained } from '../api.ts'
import { useApp } from '../app-context.ts'
import { trialText } from './trial-text.ts'
import { FailureDetails } from '../ui/failure-details.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

interface TestButtonProps {
  /** Name of a registered server. */
  readonly name: string
  readonly primary?: boolean
}

/** Button that tests the connection to a server and shows the result beside it. */
export function TestButton({ name, primary }: TestButtonProps) {
  const { store } = useApp()
  const busy = useSignal(false)
  const result = useSignal<{ ok: boolean; text: string; details?: Explained } | undefined>(undefined)
  const test = async () => {
    busy.value = true
    result.value = undefined
    try {
      const trial = await change<ServerTrial>('POST', path('servers', name, 'test'))
      result.value = { ok: trial.status === 'connected', text: trialText(trial), details: trial }
    } catch (error) {
      result.value = { ok: false, text: (error as ApiError).message }
    }
    busy.value = false
    void store.refresh(new Set(['servers']))
  }
  return (
    <>
      <button type="button" class={`btn ${primary ? 'primary' : ''}`} disabled={busy.value} onClick={() => void test()}>
        {busy.value ? 'Testing…' : 'Test connection'}
      </button>
      {result.value && (
        <div class={`result ${result.value.ok ? 'good' : 'err'}`} role={result.value.ok ? 'status' : 'alert'}>
          <p>
            <UntrustedText text={result.value.text} />
          </p>
          {result.value.details && <FailureDetails details={result.value.details} />}
        </div>
      )}
    </>
  )
}
