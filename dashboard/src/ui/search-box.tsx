import { useId } from 'preact/hooks'

interface SearchBoxProps {
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly onInput: (text: string) => void
}

/** Filter of a page; `/` focuses it. */
export function SearchBox({ label, placeholder, value, onInput }: SearchBoxProps) {
  const id = useId()
  return (
    <div class="search">
      <label class="vh" for={id}>
        {label}
      </label>
      <input
        class="in"
        id={id}
        type="search"
        placeholder={placeholder}
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </div>
  )
}
