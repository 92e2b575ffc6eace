import { CopyButton } from '../ui/copy-button.tsx'
import { Dialog } from '../ui/dialog.tsx'

interface ShownOnceProps {
  readonly title: string
  /** Access token or link. */
  readonly secret: string
  /** Label of the button that copies it. */
  readonly copy: string
  readonly onClose: () => void
  readonly children: preact.ComponentChildren
}

/** Secret that the gateway tells only once. */
export const ShownOnce = ({ title, secret, copy, onClose, children }: ShownOnceProps) => (
  <Dialog title={title} onClose={onClose}>
    <div class="stack">
      {children}
      <p>
        <code class="url wrap">{secret}</code>
      </p>
    </div>
    <div class="actions end">
      <CopyButton text={secret} kind="primary">
        {copy}
      </CopyButton>
      <button type="button" class="btn" onClick={onClose}>
        Close
      </button>
    </div>
  </Dialog>
)
