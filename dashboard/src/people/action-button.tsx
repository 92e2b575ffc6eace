import { useSignal } from '@preact/signals'
import { useApp } from '../app-context.ts'
import { Confirm } from '../ui/dialog.tsx'

interface ActionButtonProps {
  /** Label of the button, and of the one that confirms. */
  readonly label: string
  readonly title: string
  readonly isDangerous?: boolean
  /** Said to screen readers afterwards. */
  readonly done: string
  readonly onConfirm: () => Promise<unknown>
  /** What happens. */
  readonly children: preact.ComponentChildren
}

/** Button that asks before it acts on a person or team. */
export function ActionButton({ label, title, isDangerous, done, onConfirm, children }: ActionButtonProps) {
  const { store, notice } = useApp()
  const isAsking = useSignal(false)
  const act = async () => {
    await onConfirm()
    notice.value = done
    void store.refresh(new Set(['people']))
  }
  return (
    <>
      <button type="button" class={isDangerous ? 'btn danger' : 'btn'} onClick={() => (isAsking.value = true)}>
        {label}
      </button>
      {isAsking.value && (
        <Confirm title={title} action={label} onConfirm={act} onClose={() => (isAsking.value = false)}>
          {children}
        </Confirm>
      )}
    </>
  )
}
