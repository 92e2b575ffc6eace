import { Shape } from '../ui/icons.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

/** Warning below a field, which does not keep the policy from being saved. */
export const Hint = ({ text }: { text: string }) => (
  <span class="st warn hint" role="status">
    <Shape tone="warn" />
    <span>
      <UntrustedText text={text} />
    </span>
  </span>
)
