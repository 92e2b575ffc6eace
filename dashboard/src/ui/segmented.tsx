import { count } from '../format.ts'

interface SegmentedProps<Id extends string> {
  readonly label: string
  readonly options: readonly { readonly id: Id; readonly label: string; readonly count?: number | undefined }[]
  readonly current: Id
  readonly onSelect: (id: Id) => void
}

/** Choice between a few options; counts of zero are hidden. */
export const Segmented = <Id extends string>({ label, options, current, onSelect }: SegmentedProps<Id>) => (
  <div class="seg" role="group" aria-label={label}>
    {options.map((option) => (
      <button key={option.id} type="button" aria-pressed={option.id === current} onClick={() => onSelect(option.id)}>
        {option.label}
        {option.count ? <span class="cnt"> {count(option.count)}</span> : null}
      </button>
    ))}
  </div>
)
