import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { Field } from '../ui/field.tsx'
import { Hint } from './hint.tsx'
import { ListInput } from './list-input.tsx'

type Lists<Kind extends string> = Readonly<Partial<Record<Kind, readonly string[] | undefined>>>

interface KindListsProps<Kind extends string> {
  readonly legend: string
  readonly help: string
  readonly labels: Readonly<Record<Kind, string>>
  /** Kinds that have a field from the start. */
  readonly usual: readonly NoInfer<Kind>[]
  readonly examples: Readonly<Partial<Record<NoInfer<Kind>, string>>>
  /** Warnings about entries, below the field of their kind. */
  readonly hints?: Readonly<Partial<Record<NoInfer<Kind>, string | undefined>>>
  readonly lists: Lists<Kind>
  readonly onChange: (kind: Kind, list: readonly string[]) => void
}

/** Lists of names by kind. Kinds without entries have a field once they are added. */
export function KindLists<Kind extends string>(props: KindListsProps<Kind>) {
  const { legend, help, labels, usual, examples, hints, lists, onChange } = props
  const added = useSignal<readonly Kind[]>(usual)
  const id = useId()
  const kinds = Object.keys(labels) as Kind[]
  const isShown = (kind: Kind) => added.value.includes(kind) || (lists[kind]?.length ?? 0) > 0
  const others = kinds.filter((kind) => !isShown(kind))
  return (
    <fieldset class="fields wide">
      <legend>
        <span class="lbl">{legend}</span> <span class="help">{help}</span>
      </legend>
      {kinds.filter(isShown).map((kind) => (
        <Field key={kind} label={labels[kind]} help={hints?.[kind] && <Hint text={hints[kind]} />}>
          {(attributes) => (
            <ListInput
              attributes={attributes}
              placeholder={examples[kind]}
              list={lists[kind] ?? []}
              onChange={(list) => onChange(kind, list)}
            />
          )}
        </Field>
      ))}
      {others.length > 0 && (
        <div class="field">
          <label for={id}>{legend}: others</label>
          <select
            id={id}
            class="in fit"
            value=""
            onChange={(event) => (added.value = [...added.value, event.currentTarget.value as Kind])}
          >
            <option value="">Add…</option>
            {others.map((kind) => (
              <option key={kind} value={kind}>
                {labels[kind]}
              </option>
            ))}
          </select>
        </div>
      )}
    </fieldset>
  )
}
