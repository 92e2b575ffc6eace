import { UntrustedText } from '../ui/untrusted-text.tsx'
import { plural } from '../format.ts'
import type { FormState } from './form-state.ts'

interface ProblemListProps {
  readonly form: FormState
  readonly isJson: boolean
  readonly onSendAnyway: () => void
}

/** Validation errors with a button to send anyway: the upstream has the final say. */
export function ProblemList({ form, isJson, onSendAnyway }: ProblemListProps) {
  const problems = [...form.problems.value]
  if (problems.length === 0) return null
  return (
    <div class="wide problems">
      <div role="alert">
        <p class="err">{plural(problems.length, 'field needs', 'fields need')} attention.</p>
        {isJson && (
          <ul class="err">
            {problems.map(([place, message]) => (
              <li key={place}>
                <code>
                  <UntrustedText text={place || '/'} />
                </code>{' '}
                <UntrustedText text={message} />
              </li>
            ))}
          </ul>
        )}
      </div>
      <button type="button" class="btn sm" onClick={onSendAnyway}>
        Send anyway
      </button>
    </div>
  )
}
