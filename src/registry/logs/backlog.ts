/** Rows that wait to be written. `Batch` is the form in which they are written. */
export interface Backlog<Row, Batch> {
  /** Number of rows */
  readonly length: number
  add(row: Row): void
  /** Returns the oldest rows, at most one write of them. They stay until `removeOldest` is called. */
  oldest(): Batch
  /** Removes the rows that `oldest` returned last, and returns their number. */
  removeOldest(): number
}

/** Keeps the rows as they are. `size`: maximum number of rows of a write */
export function createArrayBacklog<Row>(size: number): Backlog<Row, readonly Row[]> {
  const rows: Row[] = []
  let oldest: readonly Row[] = []
  return {
    get length() {
      return rows.length
    },
    add: (row) => rows.push(row),
    oldest: () => (oldest = rows.slice(0, size)),
    removeOldest() {
      const { length } = oldest
      rows.splice(0, length)
      oldest = []
      return length
    }
  }
}
