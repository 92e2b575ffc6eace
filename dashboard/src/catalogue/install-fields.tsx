import type { CatalogueInput } from '../../../src/schemas/catalogue.ts'
import { Field } from '../ui/field.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'

interface InputProps {
  readonly input: CatalogueInput
  readonly value: string
  readonly error: string | undefined
  readonly onChange: (value: string) => void
}

const noteOf = ({ is_required, is_repeated, default: fallback }: CatalogueInput) =>
  [is_required ? '' : 'optional', is_repeated ? 'one per line' : '', fallback === undefined ? '' : 'has a default']
    .filter(Boolean)
    .join(', ')

const optionsOf = ({ format, choices }: CatalogueInput): readonly string[] | undefined =>
  choices && choices.length > 0 ? choices : format === 'boolean' ? ['true', 'false'] : undefined

/** Field for one value of an installation. */
export function InstallField({ input, value, error, onChange }: InputProps) {
  const { name, label, description, is_secret, is_repeated, placeholder, default: fallback } = input
  const options = optionsOf(input)
  const shared = {
    class: 'in mono',
    value,
    autocomplete: 'off',
    placeholder: untrustedText(placeholder ?? fallback ?? ''),
    onInput: (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value)
  }
  return (
    <Field
      label={untrustedText(label === 'address' ? name : label)}
      note={noteOf(input)}
      help={description && <UntrustedText text={description} />}
      error={error}
    >
      {(attributes) =>
        options ? (
          <select {...attributes} class="in" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
            <option value="">{untrustedText(fallback === undefined ? 'not set' : `default: ${fallback}`)}</option>
            {options.map((option) => (
              <option key={option} value={option}>
                {untrustedText(option)}
              </option>
            ))}
          </select>
        ) : is_repeated && !is_secret ? (
          <textarea {...attributes} {...shared} rows={2} />
        ) : is_secret ? (
          <input {...attributes} {...shared} type="password" />
        ) : (
          <input {...attributes} {...shared} type="text" />
        )
      }
    </Field>
  )
}
