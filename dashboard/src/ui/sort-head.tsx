interface SortHeadProps {
  /** Additional CSS classes of the cell. */
  readonly kind?: string
  /** Current direction; undefined if the table is sorted otherwise. */
  readonly direction: 'ascending' | 'descending' | undefined
  /** Tip of the button. */
  readonly tip?: string | undefined
  readonly onSort: () => void
  readonly children: preact.ComponentChildren
}

const arrows = { ascending: ' ↑', descending: ' ↓' } as const

/** Head of a column that sorts the table. */
export const SortHead = ({ kind, direction, tip, onSort, children }: SortHeadProps) => (
  <th scope="col" class={kind} aria-sort={direction ?? 'none'}>
    <button type="button" class="sort" title={tip} onClick={onSort}>
      {children}
      {direction && <span aria-hidden="true">{arrows[direction]}</span>}
    </button>
  </th>
)
