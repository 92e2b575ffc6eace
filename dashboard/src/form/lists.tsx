import { useSignal } from '@preact/signals'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import type { Field, FieldOf } from './field.ts'
import { describedBy, idOf, type FieldProps } from './frame.tsx'
import { getAt, isExact, isList, numberOf, numberText, printJson, type Json } from './json.ts'
import { FieldView } from './schema-form.tsx'
import { blankValue, fitScore } from './values.ts'

const textOf = (value: Json): string =>
  typeof value === 'string'
    ? value
    : typeof value === 'number' || isExact(value)
      ? numberText(value)
      : printJson(value, 0)

/**
 * Editor for short texts or numbers as tags. Enter or leaving the field adds the typed text; each pasted line becomes a
 * tag.
 */
export function TagsInput(props: FieldProps<FieldOf<'list'>>) {
  const { field, path, form, name } = props
  const typed = useSignal('')
  const list = listAt(props)
  const isNumber = field.item?.().kind === 'number'
  const add = (text: string) => {
    const news = text.split('\n').filter((line) => line !== '')
    typed.value = ''
    if (news.length > 0) form.set(path, [...list, ...news.map((each) => (isNumber ? (numberOf(each) ?? each) : each))])
  }
  const remove = (index: number) => form.set(path, afterRemoval(list, index, props.required))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey && typed.value !== '') {
      event.preventDefault()
      add(typed.value)
    } else if (event.key === 'Backspace' && typed.value === '' && list.length > 0) remove(list.length - 1)
  }
  return (
    <div class="chips">
      {list.map((item, index) => (
        <span key={index} class="chip">
          <UntrustedText text={textOf(item)} />
          <button type="button" aria-label={`Remove ${textOf(item)}`} onClick={() => remove(index)}>
            ×
          </button>
        </span>
      ))}
      <input
        {...describedBy(props)}
        value={typed.value}
        placeholder={`Add to ${name}`}
        autocomplete="off"
        inputmode={isNumber ? 'decimal' : 'text'}
        onInput={(event) => (typed.value = event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onBlur={() => add(typed.value)}
        onPaste={(event) => {
          const text = event.clipboardData?.getData('text') ?? ''
          if (!text.includes('\n')) return
          event.preventDefault()
          add(typed.value + text.replaceAll('\r\n', '\n'))
        }}
      />
    </div>
  )
}

const listAt = ({ form, path }: FieldProps): readonly Json[] => {
  const value = getAt(form.value.value, path)
  return isList(value) ? value : []
}

/** Removes an item; an optional list disappears with its last item. */
const afterRemoval = (list: readonly Json[], index: number, required: boolean): Json | undefined => {
  const rest = list.toSpliced(index, 1)
  return rest.length > 0 || required ? rest : undefined
}

/** Returns true if all items of the value can be shown as tags. */
export const areTags = (field: FieldOf<'list'>, value: Json | undefined): boolean =>
  field.isTags && (!isList(value) || value.every((item) => fitScore(field.item!(), item) >= 0))

/** Editor with one row per item. */
export function ListInput(props: FieldProps<FieldOf<'list'>>) {
  const { field, path, form, id, name, required } = props
  const list = listAt(props)
  const lead = field.lead()
  const fieldAt = (index: number): Field | undefined => lead[index] ?? field.item?.()
  const next = fieldAt(list.length)
  return (
    <div class="rows" id={idOf(id, path)} tabIndex={-1}>
      {list.map((_, index) => (
        <div key={index} class="itemrow">
          <FieldView
            field={fieldAt(index) ?? anyField}
            path={[...path, index]}
            form={form}
            id={id}
            name={`${name} ${index + 1}`}
            required
          />
          <button
            type="button"
            class="btn quiet sm"
            aria-label={`Remove ${name} ${index + 1}`}
            onClick={() => form.set(path, afterRemoval(list, index, required))}
          >
            Remove
          </button>
        </div>
      ))}
      {next && (
        <button type="button" class="btn sm" onClick={() => form.set(path, [...list, blankValue(next)])}>
          Add to <UntrustedText text={name} />
        </button>
      )}
    </div>
  )
}

/** Field for items without a schema. */
const anyField: Field = {
  kind: 'json',
  title: undefined,
  description: undefined,
  type: 'any',
  hints: [],
  nullable: false,
  fallback: undefined,
  deprecated: false,
  reason: undefined
}
