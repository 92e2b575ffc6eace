/** The middle value, or the mean of the two middle ones. NaN for an empty list. */
export const median = (values: readonly number[]): number => percentile(values, 50)

/** NaN for an empty list. */
export const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** Returns the percentile by linear interpolation; `percent` is 0 to 100. NaN for an empty list. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = ((sorted.length - 1) * percent) / 100
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

/**
 * Returns the median of the per-round ratios, so that a disturbance that affects both cancels out. The lists are in
 * round order.
 */
export function medianRatio(numerators: readonly number[], denominators: readonly number[]): number {
  if (numerators.length !== denominators.length) throw new Error('as many rounds of the one as of the other')
  return median(numerators.map((value, round) => value / denominators[round]!))
}

/** Returns the order of the targets in a round: forwards, then backwards, so that a drift affects all alike. */
export const interleaved = <T>(targets: readonly T[], round: number): readonly T[] =>
  round % 2 === 0 ? targets : targets.toReversed()
