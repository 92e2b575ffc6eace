import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  /** Text beside the label: `optional`, or a type. */
  readonly note?: string
  readonly help?: preact.ComponentChildren
  readonly error?: string | undefined
  readonly wide?: boolean
  /** Renders the control with the given attributes. */
  readonly children: (attributes: {
    readonly id: string
    readonly 'aria-describedby': string | undefined
    readonly 'aria-invalid': boolean | undefined
  }) => preact.ComponentChildren
}

/** Labelled control; help and error are tied to it for screen readers. */
export function Field({ label, note, help, error, wide, children }: FieldProps) {
  const id = useId()
  const described = error ? `${id}-error` : help ? `${id}-help` : undefined
  return (
    <div class={`field ${wide ? 'wide' : ''}`}>
      <label for={id}>
        {label}
        {note && <span class="req">{note}</span>}
      </label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': error ? true : undefined })}
      {help && !error && (
        <span class="help" id={`${id}-help`}>
          {help}
        </span>
      )}
      {error && (
        <span class="err" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  )
}

interface NumberFieldProps extends Omit<FieldProps, 'children'> {
  readonly min: number
  readonly max?: number
  readonly placeholder?: string
  readonly value: string
  readonly onInput: (text: string) => void
}

/** Labelled field of a number; its text is empty for none. */
export const NumberField = ({ min, max, placeholder, value, onInput, ...field }: NumberFieldProps) => (
  <Field {...field}>
    {(attributes) => (
      <input
        {...attributes}
        class="in"
        type="number"
        {...{ min, max, placeholder, value }}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    )}
  </Field>
)
