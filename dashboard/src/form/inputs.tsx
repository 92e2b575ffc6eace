import { useSignal } from '@preact/signals'
import { Segmented } from '../ui/segmented.tsx'
import { untrustedText } from '../ui/untrusted-text.tsx'
import { optionOf, type FieldOf } from './field.ts'
import { describedBy, type FieldProps } from './frame.tsx'
import { getAt, equalJson, isExact, numberOf, numberText, parseJson, printJson, type Json } from './json.ts'

const hints: ReadonlyMap<string, string> = new Map([
  ['date', '2026-01-31'],
  ['date-time', '2026-01-31T09:30:00Z'],
  ['time', '09:30:00Z'],
  ['duration', 'PT1H30M'],
  ['email', 'name@example.com'],
  ['uri', 'https://example.com'],
  ['uuid', '00000000-0000-0000-0000-000000000000']
])

const valueAt = ({ form, path }: FieldProps): Json | undefined => getAt(form.value.value, path)

/** Submits the form on Enter in a single-line field; Shift+Enter inserts a line break, since texts may contain them. */
const submitOnEnter = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
  if (event.key !== 'Enter' || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return
  event.preventDefault()
  event.currentTarget.form?.requestSubmit()
}

export function TextInput(props: FieldProps<FieldOf<'text'>>) {
  const { field, path, form } = props
  const value = valueAt(props)
  const text = typeof value === 'string' ? value : ''
  const onInput = (next: string) => form.set(path, next === '' ? undefined : next)
  const placeholder = hints.get(field.format ?? '')
  if (field.format === 'password') {
    return (
      <input
        {...describedBy(props)}
        class="in"
        type="password"
        autocomplete="off"
        value={text}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    )
  }
  return (
    <>
      <textarea
        {...describedBy(props)}
        class={field.isLong ? 'in' : 'in line'}
        rows={field.isLong ? 3 : 1}
        spellcheck={field.isLong}
        value={text}
        placeholder={placeholder}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={field.isLong ? undefined : submitOnEnter}
      />
      {value === '' && <EmptyText {...props} />}
    </>
  )
}

const EmptyText = ({ form, path }: FieldProps) => (
  <span class="help">
    Sends an empty string.{' '}
    <button type="button" class="lnk" onClick={() => form.set(path, undefined)}>
      Leave it out
    </button>
  </span>
)

/** Parses a typed number; other text stays text, so that validation reports it. */
const parseNumber = (text: string): Json | undefined => (text.trim() === '' ? undefined : (numberOf(text) ?? text))

const numberInputText = (value: Json | undefined): string => {
  if (value === undefined) return ''
  if (typeof value === 'number' || isExact(value)) return numberText(value)
  return typeof value === 'string' ? value : printJson(value, 0)
}

/** Number field. Not `<input type="number">`: that rounds ids beyond 2^53 and hides text it cannot parse. */
export function NumberInput(props: FieldProps) {
  const { path, form } = props
  const typed = useSignal('')
  const value = valueAt(props)
  // `1.` and `1.0` stay as typed while they equal the value
  const isTyped = equalJson(parseNumber(typed.value), value)
  return (
    <input
      {...describedBy(props)}
      class="in mono"
      inputmode="decimal"
      autocomplete="off"
      value={isTyped ? typed.value : numberInputText(value)}
      onInput={(event) => {
        typed.value = event.currentTarget.value
        form.set(path, parseNumber(typed.value))
      }}
    />
  )
}

export function BooleanInput(props: FieldProps) {
  const { path, form, name, required } = props
  const value = valueAt(props)
  const options = [
    ...(required && value !== undefined ? [] : [{ id: 'unset' as const, label: 'Not set' }]),
    { id: 'true' as const, label: 'true' },
    { id: 'false' as const, label: 'false' }
  ]
  return (
    <div id={describedBy(props).id} tabIndex={-1}>
      <Segmented
        label={name}
        options={options}
        current={value === undefined ? 'unset' : value === true ? 'true' : 'false'}
        onSelect={(id) => form.set(path, id === 'unset' ? undefined : id === 'true')}
      />
    </div>
  )
}

export function ChoiceInput(props: FieldProps<FieldOf<'choice'>>) {
  const { field, path, form, required } = props
  const current = optionOf(field.options, valueAt(props))
  return (
    <select
      {...describedBy(props)}
      class="in"
      value={current < 0 ? '' : String(current)}
      onChange={(event) => {
        const { value } = event.currentTarget
        form.set(path, value === '' ? undefined : field.options[Number(value)]!.value)
      }}
    >
      {(current < 0 || !required) && <option value="">{required ? 'Choose' : 'Not set'}</option>}
      {field.options.map(({ label }, index) => (
        <option key={index} value={String(index)}>
          {untrustedText(label)}
        </option>
      ))}
    </select>
  )
}

export function FixedInput(props: FieldProps<FieldOf<'fixed'>>) {
  const { field, path, form } = props
  const isThere = valueAt(props) !== undefined
  return (
    <label class="check">
      <input
        {...describedBy(props)}
        type="checkbox"
        class="cb"
        checked={isThere}
        onChange={(event) => form.set(path, event.currentTarget.checked ? field.value : undefined)}
      />
      <code>{printJson(field.value, 0)}</code>
    </label>
  )
}

/** Value edited as JSON text. Invalid JSON stays in the box with the error, and blocks sending. */
export function JsonInput(props: FieldProps & { readonly rows?: number }) {
  const { path, form, rows = 2 } = props
  const value = valueAt(props)
  const typed = useSignal<string | undefined>(undefined)
  const isTyped = typed.value !== undefined && parsesTo(typed.value, value)
  const text = isTyped ? typed.value! : value === undefined ? '' : printJson(value)
  const onInput = (next: string) => {
    typed.value = next
    const reading = readJson(next)
    form.setBroken(path, reading.reason)
    if (reading.reason === undefined) form.set(path, reading.value)
  }
  return (
    <textarea
      {...describedBy(props)}
      class="in"
      rows={Math.min(Math.max(rows, text.split('\n').length), 24)}
      spellcheck={false}
      value={text}
      placeholder="JSON"
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  )
}

function readJson(text: string): { value?: Json | undefined; reason?: string } {
  if (text.trim() === '') return { value: undefined }
  try {
    return { value: parseJson(text) }
  } catch (error) {
    return { reason: `Invalid JSON: ${(error as Error).message}` }
  }
}

/** Returns true if the text parses to the value. Invalid text is kept until it parses. */
const parsesTo = (text: string, value: Json | undefined): boolean => {
  const reading = readJson(text)
  return reading.reason !== undefined || equalJson(reading.value, value)
}
