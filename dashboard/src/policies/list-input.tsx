import { useSignal } from '@preact/signals'

const read = (text: string): readonly string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)

const isSame = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((each, i) => each === b[i])

interface ListInputProps {
  readonly list: readonly string[]
  readonly onChange: (list: readonly string[]) => void
  readonly placeholder?: string | undefined
  readonly attributes: object
}

/** Input of names that are separated by commas. A list with an entry that has a comma is changed in the text only. */
export function ListInput({ list, onChange, placeholder, attributes }: ListInputProps) {
  const typed = useSignal(list.join(', '))
  const isLocked = list.some((entry) => entry.includes(',') || entry !== entry.trim())
  const value = isLocked ? JSON.stringify(list) : isSame(read(typed.value), list) ? typed.value : list.join(', ')
  return (
    <input
      {...attributes}
      class="in mono"
      autocomplete="off"
      spellcheck={false}
      placeholder={placeholder}
      readOnly={isLocked}
      title={isLocked ? 'An entry contains a comma: change it in the text' : undefined}
      value={value}
      onInput={(event) => {
        typed.value = event.currentTarget.value
        onChange(read(typed.value))
      }}
    />
  )
}
