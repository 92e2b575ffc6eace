/** Name of a column, with CSS classes of its head, or `hidden` for a name that only screen readers get. */
type Column = string | readonly [name: string, kind: string]

/** Row with the names of a table's columns. */
export const TableHead = ({ columns }: { columns: readonly Column[] }) => (
  <thead>
    <tr>
      {columns.map((column) => {
        const [name, kind] = typeof column === 'string' ? [column] : column
        return (
          <th key={name} scope="col" class={kind === 'hidden' ? undefined : kind}>
            {kind === 'hidden' ? <span class="vh">{name}</span> : name}
          </th>
        )
      })}
    </tr>
  </thead>
)
