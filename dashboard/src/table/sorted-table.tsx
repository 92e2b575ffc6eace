import { useApp } from '../app-context.ts'
import { openRow } from '../ui/open-row.ts'
import { SortHead } from '../ui/sort-head.tsx'
import { Table } from '../ui/table.tsx'

type Value = string | number | undefined

/** Column of a table that sorts by each column that has values. */
export interface Column<T> {
  readonly key: string
  readonly label: string
  /** CSS classes of head and cells. */
  readonly kind?: string
  /** Value to sort by; a column without it, such as one of buttons, has a head only for screen readers. */
  readonly value?: (row: T) => Value
  readonly cell: (row: T) => preact.ComponentChildren
  /** True if this column, instead of the first one, names the row. */
  readonly isName?: boolean
}

const compare = (a: Value, b: Value): number => {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))
}

/** Returns the rows in the order of a query member: the key of a column, after `-` if descending. */
export function sortRows<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  order: string | undefined
): readonly T[] {
  const isDescending = order?.startsWith('-') ?? false
  const valueOf = columns.find(({ key }) => key === order?.slice(isDescending ? 1 : 0))?.value
  if (!valueOf) return rows
  const known = rows.filter((row) => valueOf(row) !== undefined)
  const sorted = known.toSorted((a, b) => compare(valueOf(a), valueOf(b)))
  // what is not known comes last either way
  return [...(isDescending ? sorted.toReversed() : sorted), ...rows.filter((row) => valueOf(row) === undefined)]
}

const nextOrder = (order: string | undefined, key: string): string | undefined => {
  if (order === key) return `-${key}`
  return order === `-${key}` ? undefined : key
}

interface SortedTableProps<T> {
  readonly label: string
  /** Additional CSS class of the table. */
  readonly kind?: string
  /** Rows in the order that they have before somebody sorts them. */
  readonly rows: readonly T[]
  /** The first one names the row, unless another one says so. */
  readonly columns: readonly Column<T>[]
  readonly keyOf: (row: T) => string
  /** Query of the page; by default that of the address. */
  readonly query?: Readonly<Record<string, string>>
  /** Member of the page's query with the order. */
  readonly member?: string
  /** True if rows have a `data-row` link, which a click anywhere in the row opens. */
  readonly opens?: boolean
  /** Tip of the heads that sort, for a list of which only a part is loaded. */
  readonly sortTip?: string | undefined
}

/** Table whose order is in the page's address. */
export function SortedTable<T>(props: SortedTableProps<T>) {
  const { location } = useApp()
  const { label, kind: tableKind, rows, columns, keyOf, member = 'sort', opens = false, sortTip } = props
  const { query = location.route.value.query } = props
  const order = query[member]
  const head = ({ key, label: name, kind: style, value }: Column<T>) =>
    value === undefined ? (
      <th key={key} scope="col" class={style}>
        <span class="vh">{name}</span>
      </th>
    ) : (
      <SortHead
        key={key}
        {...(style === undefined ? {} : { kind: style })}
        tip={sortTip}
        direction={order === key ? 'ascending' : order === `-${key}` ? 'descending' : undefined}
        onSort={() => location.setQuery({ [member]: nextOrder(order, key) })}
      >
        {name}
      </SortHead>
    )
  const naming = columns.find(({ isName }) => isName) ?? columns[0]
  return (
    <Table label={label} {...(tableKind === undefined ? {} : { kind: tableKind })}>
      <thead>
        <tr>{columns.map(head)}</tr>
      </thead>
      <tbody>
        {sortRows(rows, columns, order).map((row) => (
          <tr key={keyOf(row)} {...(opens && { class: 'opens', onClick: openRow })}>
            {columns.map((column) =>
              column === naming ? (
                <th key={column.key} scope="row" class={column.kind}>
                  {column.cell(row)}
                </th>
              ) : (
                <td key={column.key} class={column.kind}>
                  {column.cell(row)}
                </td>
              )
            )}
          </tr>
        ))}
      </tbody>
    </Table>
  )
}
