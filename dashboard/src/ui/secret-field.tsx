import type { Secret } from '../servers/server-form.ts'
import { Field } from './field.tsx'

interface SecretInputProps {
  readonly label: string
  readonly value: Secret
  readonly onChange: (value: Secret) => void
  readonly attributes?: object
}

/** Input for a secret. A stored value is never shown: keep it or replace it. */
export const SecretInput = ({ label, value, onChange, attributes = {} }: SecretInputProps) =>
  value === null ? (
    <span class="kept">
      <span class="muted">Stored, not shown</span>
      <button type="button" class="btn sm" aria-label={`Replace value of ${label}`} onClick={() => onChange('')}>
        Replace value
      </button>
    </span>
  ) : (
    <input
      {...attributes}
      class="in mono"
      type="password"
      autocomplete="off"
      aria-label={'id' in attributes ? undefined : label}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  )

interface SecretFieldProps {
  readonly label: string
  readonly help?: preact.ComponentChildren
  readonly value: Secret
  readonly onChange: (value: Secret) => void
}

export const SecretField = ({ label, help, value, onChange }: SecretFieldProps) =>
  value === null ? (
    <div class="field">
      <span class="lbl">{label}</span>
      <SecretInput label={label} value={value} onChange={onChange} />
    </div>
  ) : (
    <Field label={label} help={help}>
      {(attributes) => <SecretInput label={label} value={value} onChange={onChange} attributes={attributes} />}
    </Field>
  )
