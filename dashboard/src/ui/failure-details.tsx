import type { ApiError, Explained } from '../api.ts'
import { sentence } from '../format.ts'
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

/** Error with which the gateway refused a form, with its explanation if it failed to contact a server. */
export const Refusal = ({ error }: { error: ApiError }) => (
  <div class="err" role="alert">
    <p>
      <UntrustedText text={sentence(error.message)} />
    </p>
    <FailureDetails details={error.details} />
  </div>
)
