import type { Pair } from '../servers/server-form.ts'
import { SecretInput } from './secret-field.tsx'

interface PairsFieldProps {
  /** Name of one entry: `Header`, `Variable`. */
  readonly entryName: string
  readonly legend: string
  readonly help: preact.ComponentChildren
  readonly pairs: readonly Pair[]
  readonly onChange: (pairs: readonly Pair[]) => void
}

/** Editor for headers or variables; the values are masked. */
export function PairsField({ entryName, legend, help, pairs, onChange }: PairsFieldProps) {
  const replace = (at: number, changes: Partial<Pair>) =>
    onChange(pairs.map((pair, index) => (index === at ? { ...pair, ...changes } : pair)))
  return (
    <fieldset class="field wide">
      <legend class="lbl">{legend}</legend>
      {pairs.map(({ key, value }, at) => (
        <div class="pair" key={at}>
          <input
            class="in mono"
            aria-label={`${entryName} ${at + 1}, name`}
            placeholder="Name"
            autocomplete="off"
            spellcheck={false}
            readOnly={value === null}
            value={key}
            onInput={(event) => replace(at, { key: event.currentTarget.value })}
          />
          <SecretInput
            label={key ? key : `${entryName} ${at + 1}, value`}
            value={value}
            onChange={(next) => replace(at, { value: next })}
          />
          <button
            type="button"
            class="btn quiet icon"
            aria-label={`Remove ${key || `${entryName.toLowerCase()} ${at + 1}`}`}
            onClick={() => onChange(pairs.filter((_pair, index) => index !== at))}
          >
            ×
          </button>
        </div>
      ))}
      <div>
        <button type="button" class="btn sm" onClick={() => onChange([...pairs, { key: '', value: '' }])}>
          Add {entryName.toLowerCase()}
        </button>
      </div>
      <span class="help">{help}</span>
    </fieldset>
  )
}
