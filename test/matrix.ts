/** True in `npm run test:nightly`, which runs every cell of each matrix. */
const isNightly = process.env['TEST_MATRIX'] === 'whole'

type Dimension = readonly unknown[]
type Cell<D extends readonly Dimension[]> = { readonly [I in keyof D]: D[I][number] }

/** Returns the product of the dimensions. */
export const allCells = <const D extends readonly Dimension[]>(...dimensions: D): Cell<D>[] =>
  dimensions.reduce<unknown[][]>(
    (cells, values) => cells.flatMap((cell) => values.map((value) => [...cell, value])),
    [[]]
  ) as Cell<D>[]

/** Returns as few cells as have every value of every dimension. */
export function someCells<const D extends readonly Dimension[]>(...dimensions: D): Cell<D>[] {
  const count = dimensions.some(({ length }) => length === 0) ? 0 : Math.max(...dimensions.map(({ length }) => length))
  return Array.from({ length: count }, (_, i) => dimensions.map((values) => values[i % values.length])) as Cell<D>[]
}

/**
 * Returns the cells of a matrix to test, for example of transports and modes: each value in at least one cell, and all
 * cells in the nightly run. For matrices whose dimensions are also tested apart, or have little to do with each other.
 */
export const cellsOf = <const D extends readonly Dimension[]>(...dimensions: D): Cell<D>[] =>
  isNightly ? allCells<D>(...dimensions) : someCells<D>(...dimensions)

/**
 * Returns the values of one dimension to test: the first, and all in the nightly run. For tests with processes where
 * test/integration has each value, for example the engines of the store.
 */
export const firstOf = <T>(values: readonly T[]): readonly T[] => (isNightly ? values : values.slice(0, 1))

/** Returns another value in the nightly run, for example the engine of the store that takes longer. */
export const inNightly = <T>(nightly: T, usual: T): T => (isNightly ? nightly : usual)

/** Returns the value whose turn it is for a name, so that many names share the values among them. */
export const valueFor = <T>(name: string, values: readonly T[]): T =>
  values[Array.from(name).reduce((sum, letter) => sum + letter.codePointAt(0)!, 0) % values.length]!

/** Returns the values to test for one of many names: one of them by turns, and all in the nightly run. */
export const someFor = <T>(name: string, values: readonly T[]): readonly T[] =>
  isNightly ? values : [valueFor(name, values)]
