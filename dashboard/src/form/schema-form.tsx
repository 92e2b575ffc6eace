import { Segmented } from '../ui/segmented.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'
import type { Field, FieldOf } from './field.ts'
import { Caption, idOf, Notes, type FieldProps } from './frame.tsx'
import { BooleanInput, ChoiceInput, FixedInput, JsonInput, NumberInput, TextInput } from './inputs.tsx'
import { getAt } from './json.ts'
import { areTags, ListInput, TagsInput } from './lists.tsx'
import { ObjectInput } from './objects.tsx'
import { blankValue, convertTo, initialValue, canShow, variantFor } from './values.ts'

/** Form for the parameters of a tool. */
export function SchemaForm({ field, form, id }: Pick<FieldProps, 'field' | 'form' | 'id'>) {
  const props = { field, form, id, path: [], name: 'Arguments', required: true }
  if (!canShow(field, form.value.value)) return <Labelled {...props} isJson />
  if (field.kind === 'object') {
    return (
      <>
        <div class="wide notes">
          <Notes {...props} field={{ ...field, description: undefined }} />
        </div>
        <ObjectInput {...props} field={field} />
      </>
    )
  }
  return <FieldView {...props} />
}

type Simple = Exclude<Field['kind'], 'object' | 'union'>

function Control(props: FieldProps) {
  const { field } = props
  switch (field.kind) {
    case 'text':
      return <TextInput {...props} field={field} />
    case 'number':
      return <NumberInput {...props} />
    case 'boolean':
      return <BooleanInput {...props} />
    case 'choice':
      return <ChoiceInput {...props} field={field} />
    case 'fixed':
      return <FixedInput {...props} field={field} />
    default:
      return <JsonInput {...props} />
  }
}

const isBlock = ({ kind }: Field): boolean => kind === 'object' || kind === 'union' || kind === 'list'

/**
 * Field of one place with everything below it. A value that the field cannot show is edited as JSON, so nothing is
 * lost.
 */
export function FieldView(props: FieldProps) {
  const { field, path, form } = props
  const value = getAt(form.value.value, path)
  if (field.nullable && value === null) return <NullValue {...props} />
  // a partly typed number is text
  const isTyped = field.kind === 'number' && typeof value === 'string'
  if (!isTyped && !canShow(field, value)) return <Labelled {...props} isJson />
  if (field.kind === 'list' && areTags(field, value)) return <Labelled {...props} isTags />
  return isBlock(field) ? <Block {...props} /> : <Labelled {...props} />
}

const wideKinds: ReadonlySet<Simple> = new Set(['json'])

interface LabelledProps extends FieldProps {
  readonly isJson?: boolean
  readonly isTags?: boolean
}

function Labelled({ isJson = false, isTags = false, ...props }: LabelledProps) {
  const { field, path, id } = props
  const isWide = isJson || wideKinds.has(field.kind as Simple) || (field.kind === 'text' && field.isLong)
  const hasOwnLabel = field.kind === 'boolean' || field.kind === 'fixed'
  const caption = <Caption {...props} />
  return (
    <div class={isWide ? 'field wide' : 'field'}>
      <div class="cap">
        {hasOwnLabel && !isJson ? <span class="lbl">{caption}</span> : <label for={idOf(id, path)}>{caption}</label>}
        <NullButton {...props} />
      </div>
      {isJson ? (
        <>
          <JsonInput {...props} />
          <span class="help">This value does not fit the form, so it is shown as JSON.</span>
        </>
      ) : isTags ? (
        <TagsInput {...props} field={field as FieldOf<'list'>} />
      ) : (
        <Control {...props} />
      )}
      {field.kind === 'json' && field.reason && <span class="help">{field.reason}</span>}
      <Notes {...props} />
    </div>
  )
}

const NullButton = ({ field, path, form, name }: FieldProps) =>
  field.nullable ? (
    <button type="button" class="btn quiet sm" aria-label={`Set ${name} to null`} onClick={() => form.set(path, null)}>
      null
    </button>
  ) : null

const NullValue = (props: FieldProps) => {
  const { path, form, id, name } = props
  return (
    <div class="field">
      <span class="lbl">
        <Caption {...props} />
      </span>
      <div class="row start" id={idOf(id, path)} tabIndex={-1}>
        <code>null</code>
        <button type="button" class="btn sm" aria-label={`Change ${name}`} onClick={() => form.set(path, undefined)}>
          Change
        </button>
      </div>
      <Notes {...props} />
    </div>
  )
}

/** Field with nested fields. An optional one is added and removed by hand. */
function Block(props: FieldProps) {
  const { field, path, form, id, name, required } = props
  const value = getAt(form.value.value, path)
  const isThere = value !== undefined
  return (
    <fieldset class="wide group" id={idOf(id, path)} tabIndex={-1}>
      <legend>
        <Caption {...props} />
      </legend>
      <Notes {...props} />
      {field.kind === 'union' ? (
        <UnionInput {...props} field={field} />
      ) : !isThere ? (
        <div>
          <button type="button" class="btn sm" onClick={() => form.set(path, initialValue(field) ?? blankValue(field))}>
            Add <UntrustedText text={name} />
          </button>
        </div>
      ) : field.kind === 'list' ? (
        <ListInput {...props} field={field} />
      ) : (
        <div class="try inner">
          <ObjectInput {...props} field={field as FieldOf<'object'>} />
        </div>
      )}
      {field.nullable && <NullButton {...props} />}
      {isThere && !required && (
        <div>
          <button type="button" class="btn quiet sm" onClick={() => form.set(path, undefined)}>
            Leave out <UntrustedText text={name} />
          </button>
        </div>
      )}
    </fieldset>
  )
}

/** Chooser of variants, and the fields of the chosen one. */
function UnionInput(props: FieldProps<FieldOf<'union'>>) {
  const { field, path, form, id, name } = props
  const variants = field.variants()
  const value = getAt(form.value.value, path)
  const index = variantFor(variants, value, form.chosen(path))
  const current = variants[index]
  const select = (next: string) => {
    const to = variants[Number(next)]
    if (!to) return
    form.choose(path, Number(next))
    form.set(path, convertTo(to.field, value) ?? (path.length === 0 ? {} : undefined))
  }
  const options = variants.map(({ label }, at) => ({ id: String(at), label: untrustedText(label) }))
  const isShort = variants.length <= 4 && options.every(({ label }) => label.length <= 24)
  return (
    <>
      {isShort ? (
        <div>
          <Segmented label={`Form of ${name}`} options={options} current={String(index)} onSelect={select} />
        </div>
      ) : (
        <select
          class="in"
          aria-label={`Form of ${name}`}
          value={index < 0 ? '' : String(index)}
          onChange={(event) => select(event.currentTarget.value)}
        >
          {index < 0 && <option value="">Choose a form</option>}
          {options.map((option) => (
            <option key={option.id} value={option.id}>
              {option.label}
            </option>
          ))}
        </select>
      )}
      {current && <VariantBody {...props} field={current.field} key={index} id={id} />}
    </>
  )
}

function VariantBody(props: FieldProps) {
  const { field, path, form } = props
  const value = getAt(form.value.value, path)
  if (field.kind === 'object' && canShow(field, value)) {
    return (
      <div class="try inner">
        <ObjectInput {...props} field={field} />
      </div>
    )
  }
  return (
    <div class="try inner">
      <FieldView {...props} required name={props.name} />
    </div>
  )
}
