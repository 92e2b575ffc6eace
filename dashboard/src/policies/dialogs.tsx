import { policySentence } from '../../../src/domain/policy/sentence.ts'
import { change } from '../api.ts'
import { useApp } from '../app-context.ts'
import * as sources from '../sources.ts'
import { Confirm } from '../ui/dialog.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { policyBody, type PolicyDraft } from './draft.ts'
import { Trial } from './trial.tsx'

export const policyPath = (name: string): string => `/api/v0/policies/${encodeURIComponent(name)}`

interface EnforceProps {
  readonly draft: PolicyDraft
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
}

/** Confirmation before a policy has effect, with its trial on the calls of the last day. */
export const ConfirmEnforce = ({ draft, onConfirm, onClose }: EnforceProps) => (
  <Confirm title="Enforce this policy?" action="Enforce policy" onConfirm={onConfirm} onClose={onClose}>
    <p class="sentence">
      <UntrustedText text={policySentence(draft)} />.
    </p>
    <p>It takes effect at once, on open streams and running calls too. On the calls of the last day:</p>
    <Trial change={{ with: policyBody(draft) }} />
  </Confirm>
)

interface DeleteProps {
  readonly name: string
  /** True if the policy has effect now. */
  readonly isEnforced: boolean
  readonly onClose: () => void
  readonly onDeleted: () => void
}

/** Confirmation to delete a policy, with a trial of that on the calls of the last day. */
export function DeletePolicy({ name, isEnforced, onClose, onDeleted }: DeleteProps) {
  const { store } = useApp()
  const remove = async () => {
    await store.whileDeleting(sources.policy(name), () => change('DELETE', policyPath(name)))
    onDeleted()
  }
  return (
    <Confirm title={`Delete ${name}?`} action="Delete policy" onClose={onClose} onConfirm={remove}>
      {isEnforced ? (
        <>
          <p>Without it, the other policies decide at once. On the calls of the last day:</p>
          <Trial change={{ without: name }} />
        </>
      ) : (
        <p>It has no effect now.</p>
      )}
    </Confirm>
  )
}
