import { UntrustedText } from '../ui/untrusted-text.tsx'
import type { Field } from './field.ts'
import { printJson, type Path } from './json.ts'
import { placeOf } from './problems.ts'
import type { FormState } from './form-state.ts'

/** Properties of every form field component. */
export interface FieldProps<F extends Field = Field> {
  readonly field: F
  readonly path: Path
  readonly form: FormState
  /** Prefix of the ids in this form. */
  readonly id: string
  /** Label on the page. */
  readonly name: string
  readonly required: boolean
}

/** Returns the id of a place's control. Without white space, so that lists of ids can contain it. */
export const idOf = (id: string, path: Path): string => id + encodeURIComponent(placeOf(path))

/** Returns the attributes that tie a control to its help and error texts. */
export const describedBy = ({ id, path, form, required }: FieldProps) => {
  const own = idOf(id, path)
  const place = placeOf(path)
  const isWrong = form.problems.value.has(place) || form.broken.value.has(place)
  return {
    id: own,
    'aria-describedby': `${own}-help ${own}-err`,
    'aria-invalid': isWrong ? ('true' as const) : undefined,
    'aria-required': required ? ('true' as const) : undefined
  }
}

/** Name, type and required mark. */
export const Caption = ({ field, name, required }: Pick<FieldProps, 'field' | 'name' | 'required'>) => (
  <>
    <UntrustedText text={name} />{' '}
    <span class="type">
      <UntrustedText text={field.type} />
    </span>
    {required && <span class="req"> required</span>}
    {field.deprecated && <span class="req"> deprecated</span>}
  </>
)

/** Further constraints and the error of a field. */
export function Notes({ field, path, form, id, required }: FieldProps) {
  const own = idOf(id, path)
  const place = placeOf(path)
  const wrong = form.problems.value.get(place) ?? form.broken.value.get(place)
  const fallback = !required && field.fallback !== undefined && field.fallback !== null
  const lines = [field.description, ...field.hints, fallback ? `Default: ${printJson(field.fallback!, 0)}` : undefined]
  const told = lines.filter((line) => line !== undefined)
  return (
    <>
      {told.length > 0 && (
        <span class="help pre" id={`${own}-help`}>
          <UntrustedText text={told.join('\n')} />
        </span>
      )}
      {wrong && (
        <span class="err" id={`${own}-err`}>
          <UntrustedText text={wrong} />
        </span>
      )}
    </>
  )
}
