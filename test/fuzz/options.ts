import type { Mode } from './target.ts'

export interface Options {
  readonly seconds: number
  readonly seed: number
  /** Number of the first case. */
  readonly from: number
  readonly modes: readonly Mode[]
}

export interface Outcome {
  readonly cases: number
  readonly findings: number
}
