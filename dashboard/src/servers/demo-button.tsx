import { useSignal } from '@preact/signals'
import { change, path, type ApiError } from '../api.ts'
import { useApp } from '../app-context.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'

/** Registers the demo server that ships with the gateway, if it starts stdio servers. */
export function DemoButton() {
  const { store, notice, viewer } = useApp()
  const busy = useSignal(false)
  const failure = useSignal('')
  const add = async () => {
    busy.value = true
    failure.value = ''
    try {
      await change('POST', path('servers', 'demo'))
      notice.value = 'The demo server is added'
      await store.refresh(new Set(['servers']))
    } catch (error) {
      failure.value = (error as ApiError).message
    }
    busy.value = false
  }
  if (!viewer.value.stdio) return null
  return (
    <>
      <button type="button" class="btn" disabled={busy.value} onClick={() => void add()}>
        {busy.value ? 'Adding…' : 'Add the demo server'}
      </button>
      {failure.value && (
        <p class="err" role="alert">
          <UntrustedText text={failure.value} />
        </p>
      )}
    </>
  )
}
