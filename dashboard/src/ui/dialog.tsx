import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: preact.ComponentChildren
}

/**
 * Returns a function that puts the caret back to where it is now. Chromium returns the focus to a field without its
 * caret if another tab was in front meanwhile: what is typed then is lost.
 */
function rememberCaret(): () => void {
  const field = document.activeElement
  if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return () => {}
  const { selectionStart: start, selectionEnd: end, selectionDirection: direction } = field
  return () => {
    if (document.activeElement !== field) return
    if (start !== null) return field.setSelectionRange(start, end, direction ?? 'none')
    // such as a number: the caret of these is out of reach of scripts
    field.blur()
    field.focus()
  }
}

/** Modal dialog, open while mounted. Esc closes it; the focus returns to the element that opened it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const id = useId()
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = element.current!
    const restoreCaret = rememberCaret()
    dialog.showModal()
    return () => {
      // only `close()` restores the focus; removing the element does not
      dialog.close()
      restoreCaret()
    }
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
  /** Names and numbers of the things to be deleted. */
  readonly children: preact.ComponentChildren
  /** Label of the confirming button: `Delete server`. */
  readonly action: string
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
}

/**
 * Confirmation before something is deleted. The focus starts on Cancel; on an error the dialog stays open and shows it.
 */
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
