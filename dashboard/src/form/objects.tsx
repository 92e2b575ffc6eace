import { useSignal } from '@preact/signals'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import type { FieldOf, Member } from './field.ts'
import { fieldOf } from './fields.ts'
import { idOf, type FieldProps } from './frame.tsx'
import { getAt, isJsonObject, type Json } from './json.ts'
import { FieldView } from './schema-form.tsx'
import { blankValue, extraNames } from './values.ts'

/** Fields of an object: the listed members, then rows for additional ones. */
export function ObjectInput(props: FieldProps<FieldOf<'object'>>) {
  const { field, path, form, id } = props
  return (
    <>
      {requiredFirst(field.members()).map((member) => (
        <FieldView key={member.name} {...member} path={[...path, member.name]} form={form} id={id} />
      ))}
      <AdditionalMembers {...props} />
    </>
  )
}

/** Sorts required members first. */
const requiredFirst = (members: readonly Member[]): readonly Member[] =>
  members.toSorted((a, b) => Number(b.required) - Number(a.required))

/** Rows for members that the schema does not list. Present members are always shown, so that nothing is sent unseen. */
function AdditionalMembers(props: FieldProps<FieldOf<'object'>>) {
  const { field, path, form, id } = props
  const value = getAt(form.value.value, path)
  const names = extraNames(field, value)
  if (names.length === 0 && !field.extra) return null
  const inner = field.extra?.() ?? fieldOf(true)
  const add = () => {
    const taken = new Set(isJsonObject(value) ? Object.keys(value) : [])
    let name = 'name'
    for (let i = 2; taken.has(name); i++) name = `name${i}`
    form.set([...path, name], blankValue(inner))
  }
  return (
    <div class="wide rows">
      {names.map((name, index) => (
        <div key={index} class="itemrow">
          <NameInput {...props} name={name} index={index} />
          <FieldView field={inner} path={[...path, name]} form={form} id={id} name={`Value of ${name}`} required />
          <button
            type="button"
            class="btn quiet sm"
            aria-label={`Remove ${name}`}
            onClick={() => form.set([...path, name], undefined)}
          >
            Remove
          </button>
        </div>
      ))}
      {field.extra && (
        <button type="button" class="btn sm" onClick={add}>
          {path.length > 0 ? (
            <>
              Add a member to <UntrustedText text={props.name} />
            </>
          ) : (
            'Add a member'
          )}
        </button>
      )}
    </div>
  )
}

/** Returns a copy with one member renamed, in the same order. */
const renameMember = (value: Json | undefined, from: string, to: string): Json | undefined =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name === from ? to : name, member]))
    : value

function NameInput({ field, path, form, id, name, index }: FieldProps<FieldOf<'object'>> & { index: number }) {
  const value = getAt(form.value.value, path)
  const failure = useSignal('')
  const own = `${idOf(id, path)}-name-${index}`
  const isTaken = (next: string) =>
    (isJsonObject(value) && Object.hasOwn(value, next)) || field.members().some((member) => member.name === next)
  const rename = (next: string) => {
    failure.value = next !== name && isTaken(next) ? `${next} already exists` : ''
    if (next !== name && failure.value === '') form.set(path, renameMember(value, name, next))
  }
  return (
    <div class="field">
      <div class="cap">
        <label for={own}>Name</label>
      </div>
      <input
        class="in mono"
        id={own}
        value={name}
        autocomplete="off"
        onChange={(event) => rename(event.currentTarget.value)}
      />
      {failure.value && (
        <span class="err" role="alert">
          {failure.value}
        </span>
      )}
    </div>
  )
}
