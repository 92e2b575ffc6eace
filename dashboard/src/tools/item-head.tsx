import type { PromptView } from '../../../src/schemas/dashboard/prompts.ts'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { QualifiedName, UntrustedText } from '../ui/untrusted-text.tsx'
import { Switch } from '../ui/switch.tsx'
import { useSwitch } from './switching.ts'

interface ItemHeadProps {
  /** Part of the API. */
  readonly kind: 'tools' | 'prompts'
  readonly item: ToolView | PromptView
  /** Id of the heading, which labels the section. */
  readonly id: string
}

/** Head of a tool or prompt with its switch. */
export function ItemHead({ kind, item, id }: ItemHeadProps) {
  const { canonical_name: name, title, description } = item
  const setEnabled = useSwitch(kind)
  return (
    <>
      <div class="row">
        <h2 class="fq" id={id} data-arrival tabIndex={-1}>
          <QualifiedName name={name} />
        </h2>
        <div class="actions">
          <CopyButton kind="quiet" text={name}>
            Copy name
          </CopyButton>
          <Switch name={name} checked={item.enabled} onSwitch={(enabled) => setEnabled(name, enabled)}>
            Enabled
          </Switch>
        </div>
      </div>
      {title && title !== item.name && (
        <p class="strong">
          <UntrustedText text={title} />
        </p>
      )}
      <p class="desc">
        {description ? <UntrustedText text={description} /> : <span class="muted">No description.</span>}
      </p>
    </>
  )
}
