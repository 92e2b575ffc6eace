import { useSignal } from '@preact/signals'
import type { ServerTrial } from '../../../src/schemas/dashboard/servers.ts'
import { change, path, type ApiError } from '../api.ts'
import { useApp } from '../app-context.ts'
import { trialText } from './trial-text.ts'
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
  const result = useSignal<{ ok: boolean; text: string } | undefined>(undefined)
  const test = async () => {
    busy.value = true
    result.value = undefined
    try {
      const trial = await change<ServerTrial>('POST', path('servers', name, 'test'))
      result.value = { ok: trial.status === 'connected', text: trialText(trial) }
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
        <p class={`result ${result.value.ok ? 'good' : 'err'}`} role={result.value.ok ? 'status' : 'alert'}>
          <UntrustedText text={result.value.text} />
        </p>
      )}
    </>
  )
}
