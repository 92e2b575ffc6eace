/** Goal of a row; `atLeast` and `atMost` are in `unit`. */
export interface Goal {
  readonly atMost?: number
  readonly atLeast?: number
  /** `×` is a ratio to the reference. */
  readonly unit: '×' | 'ms' | 'KiB' | 'processes'
}

/** One line of the results table. */
export interface Outcome {
  /** Row number. */
  readonly row: number
  readonly work: string
  /** The baseline, measured in the same run. */
  readonly reference: string
  readonly measure: string
  /** A line without a goal only documents its value. */
  readonly goal?: Goal
  /** In the goal's unit. */
  readonly value: number
  readonly unit: Goal['unit'] | 'MiB'
  /** Responses that were wrong or missing. */
  readonly errors: number
  /** The figures behind the value, or the reason for its absence. */
  readonly note: string
}

/** Returns true if the goal is met; undefined without a goal. A single error fails the goal. */
export function isMet({ goal, value, errors }: Outcome): boolean | undefined {
  if (errors > 0 || Number.isNaN(value)) return false
  if (!goal) return undefined
  return value <= (goal.atMost ?? Infinity) && value >= (goal.atLeast ?? -Infinity)
}

/** Returns the outcome of a row that could not be measured completely. */
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
