/** The middle value; between two, their mean. NaN of nothing. */
export const median = (values: readonly number[]): number => percentile(values, 50)

/** NaN of nothing. */
export const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** By linear interpolation between neighbours; `percent` is 0 to 100. NaN of nothing. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = ((sorted.length - 1) * percent) / 100
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

/**
 * The median over rounds of what one divided by the other is in the same round, so that a disturbance that hits both
 * falls out. The lists are in the order of the rounds.
 */
export function medianRatio(numerators: readonly number[], denominators: readonly number[]): number {
  if (numerators.length !== denominators.length) throw new Error('as many rounds of the one as of the other')
  return median(numerators.map((value, round) => value / denominators[round]!))
}

/** The order in which targets are measured in a round: forwards, then backwards, so that a drift hits all alike. */
export const interleaved = <T>(targets: readonly T[], round: number): readonly T[] =>
  round % 2 === 0 ? targets : targets.toReversed()
