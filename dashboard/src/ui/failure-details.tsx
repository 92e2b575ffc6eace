import type { Explained } from '../api.ts'
import { UntrustedText } from './untrusted-text.tsx'

/** The known cause and the next step, then the last lines of stderr. Nothing if there is none of them. */
export const FailureDetails = ({ details: { summary, next_step: step, stderr = [] } }: { details: Explained }) => (
  <>
    {step && (
      <p class="next-step">
        {summary} <strong>{step}</strong>
      </p>
    )}
    {stderr.length > 1 && (
      <pre class="code" tabIndex={0} role="group" aria-label="Last lines of stderr">
        <UntrustedText text={stderr.join('\n')} />
      </pre>
    )}
  </>
)
