import { useMemo } from 'preact/hooks'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { fieldOf } from './fields.ts'
import type { FormState } from './form-state.ts'
import { JsonInput } from './inputs.tsx'
import { isJsonObject } from './json.ts'

/** Editor for all arguments as JSON text. */
export function JsonArguments({ form, id }: { form: FormState; id: string }) {
  const field = useMemo(() => fieldOf(true), [])
  return (
    <div class="field wide">
      <label for={id}>Arguments as JSON</label>
      <JsonInput field={field} path={[]} form={form} id={id} name="Arguments" required={false} rows={8} />
      {form.broken.value.get('') && (
        <span class="err" role="alert" id={`${id}-err`}>
          <UntrustedText text={form.broken.value.get('')!} />
        </span>
      )}
      {!isJsonObject(form.value.value ?? {}) && <span class="err">Arguments must be an object: {'{ … }'}</span>}
    </div>
  )
}
