import { useSignal } from '@preact/signals'
import type { Approval } from '../../../src/schemas/policy.ts'
import { change, type ApiError } from '../api.ts'
import { useApp } from '../app-context.ts'
import { Field } from '../ui/field.tsx'
import { ErrorPanel } from '../ui/panels.tsx'
import { toolOf } from './words.ts'

/** Says yes or no to a call that waits, with the fingerprint that the page shows. */
export function Decision({ approval }: { approval: Approval }) {
  const { store, notice } = useApp()
  const reason = useSignal('')
  const busy = useSignal(false)
  const failure = useSignal<ApiError | undefined>(undefined)
  const decide = async (verb: 'approve' | 'deny') => {
    busy.value = true
    failure.value = undefined
    const { id, fingerprint } = approval
    const text = reason.value.trim()
    try {
      await change('POST', `/api/v0/approvals/${id}/${verb}`, { fingerprint, ...(text && { reason: text }) })
      notice.value = `The call of ${toolOf(approval)} is ${verb === 'approve' ? 'approved' : 'denied'}`
    } catch (error) {
      failure.value = error as ApiError
    }
    busy.value = false
    await store.refresh(new Set(['approvals']))
  }
  return (
    <section class="panel stack" aria-label="Decision">
      <Field label="Reason" note="optional" help="Told to the caller after a denial, and kept in the audit log">
        {(attributes) => (
          <input
            {...attributes}
            class="in"
            autocomplete="off"
            maxLength={1_000}
            value={reason.value}
            onInput={(event) => (reason.value = event.currentTarget.value)}
          />
        )}
      </Field>
      {failure.value && <ErrorPanel title="Nothing was decided." error={failure.value} />}
      <div class="actions">
        <button type="button" class="btn primary" disabled={busy.value} onClick={() => void decide('approve')}>
          Approve
        </button>
        <button type="button" class="btn danger" disabled={busy.value} onClick={() => void decide('deny')}>
          Deny
        </button>
      </div>
    </section>
  )
}
