import type { Bench } from '../bench.ts'
import { cpuRatio, errorsOf, figures, type Measurement } from '../compare.ts'
import type { Outcome } from '../outcome.ts'

/** A row of the table, or several rows that share their set-up. */
export interface Row {
  readonly numbers: readonly number[]
  readonly work: string
  /** Time limit after which the row has failed. */
  readonly limitSeconds: number
  run(bench: Bench): Promise<Outcome[]>
}

export const CONNECTIONS = 16
export const CPU = 'CPU per request'

interface CpuOutcome {
  readonly row: number
  readonly work: string
  readonly reference: string
  readonly atMost: number
}

/** Returns an outcome that compares the CPU per request of two candidates. */
export const cpuOutcome = (
  { row, work, reference, atMost }: CpuOutcome,
  one: Measurement,
  other: Measurement
): Outcome => ({
  row,
  work,
  reference,
  measure: CPU,
  goal: { atMost, unit: '×' },
  value: cpuRatio(one, other),
  unit: '×',
  errors: errorsOf(one, other),
  note: figures(one, other)
})
