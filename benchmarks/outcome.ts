/** What has to hold; `atLeast` and `atMost` in `unit`. */
export interface Goal {
  readonly atMost?: number
  readonly atLeast?: number
  /** `×` where a ratio to the reference is meant. */
  readonly unit: '×' | 'ms' | 'KiB' | 'processes'
}

/** One line of the table. */
export interface Outcome {
  /** Number of the row. */
  readonly row: number
  readonly work: string
  /** What it is compared with, measured in the same run. */
  readonly reference: string
  readonly measure: string
  /** Without one the line only documents. */
  readonly goal?: Goal
  /** In the unit of the goal. */
  readonly value: number
  readonly unit: Goal['unit'] | 'MiB'
  /** Answers that were not right, or did not come. */
  readonly errors: number
  /** The figures behind the value, or why there is none. */
  readonly note: string
}

/** Whether the goal is met; undefined where there is none. A single error fails it. */
export function isMet({ goal, value, errors }: Outcome): boolean | undefined {
  if (errors > 0 || Number.isNaN(value)) return false
  if (!goal) return undefined
  return value <= (goal.atMost ?? Infinity) && value >= (goal.atLeast ?? -Infinity)
}

/** For a row that could not be measured to its end. */
export const failed = (row: number, work: string, reason: string): Outcome => ({
  row,
  work,
  reference: '–',
  measure: 'to be measured at all',
  value: Number.NaN,
  unit: '×',
  errors: 1,
  note: reason
})
