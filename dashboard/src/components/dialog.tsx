import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: preact.ComponentChildren
}

/** Modal while it is mounted. Esc closes; the focus returns to what opened it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const id = useId()
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = element.current!
    dialog.showModal()
    // closing, not only removing, is what returns the focus
    return () => dialog.close()
  }, [])
  return (
    <dialog
      class="dialog"
      ref={element}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface ConfirmProps {
  readonly title: string
  /** What goes, by name and number. */
  readonly children: preact.ComponentChildren
  /** What happens: `Delete server`. */
  readonly action: string
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
}

/** Asks before something is lost. The focus is on Cancel; a refusal is shown and the dialog stays. */
export function Confirm({ title, children, action, onConfirm, onClose }: ConfirmProps) {
  const busy = useSignal(false)
  const failure = useSignal('')
  const confirm = async () => {
    busy.value = true
    failure.value = ''
    try {
      await onConfirm()
      onClose()
    } catch (error) {
      failure.value = (error as Error).message
      busy.value = false
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">{children}</div>
      {failure.value && (
        <p class="err" role="alert">
          {failure.value}
        </p>
      )}
      <div class="actions end">
        <button type="button" class="btn" autofocus onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="btn danger" disabled={busy.value} onClick={() => void confirm()}>
          {action}
        </button>
      </div>
    </Dialog>
  )
}
