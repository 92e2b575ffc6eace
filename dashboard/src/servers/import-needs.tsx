import { useId } from 'preact/hooks'
import type { ImportedServer } from '../../../src/schemas/dashboard/import.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'

interface NeedInputProps {
  readonly id: string
  readonly isSecret: boolean
  readonly value: string
  readonly onInput: (value: string) => void
}

const NeedInput = ({ id, isSecret, value, onInput }: NeedInputProps) => {
  const shared = {
    class: 'in mono',
    id,
    autocomplete: 'off',
    value,
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => onInput(event.currentTarget.value)
  }
  return isSecret ? <input type="password" {...shared} /> : <input type="text" {...shared} />
}

/** Inputs for values that the pasted configuration leaves open. */
export function ImportNeeds({
  servers,
  values,
  onChange
}: {
  readonly servers: readonly ImportedServer[]
  readonly values: Readonly<Record<string, string>>
  readonly onChange: (name: string, value: string) => void
}) {
  const id = useId()
  const needs = [...new Map(servers.flatMap((server) => server.needs).map((need) => [need.name, need])).values()]
  if (needs.length === 0) return null
  return (
    <fieldset class="fields">
      <legend class="lbl">Missing values</legend>
      {needs.map((need) => (
        <div class="field" key={need.name}>
          <label for={`${id}-${need.name}`}>
            <code>{need.name}</code>
            {need.has_default && <span class="req">has a default</span>}
          </label>
          <NeedInput
            id={`${id}-${need.name}`}
            isSecret={need.is_secret}
            value={values[need.name] ?? ''}
            onInput={(value) => onChange(need.name, value)}
          />
          {need.description && (
            <span class="help">
              <UntrustedText text={need.description} />
            </span>
          )}
        </div>
      ))}
    </fieldset>
  )
}
