/** Geometry of the small charts; pure. */

export interface Bucket {
  readonly calls: number
  readonly failed: number
}

const rect = (x: number, y: number, width: number, height: number) => `M${x} ${y}h${width}v${height}h-${width}z`

/** Bars of two units, three apart, as paths: calls that went well, failed ones below them, and a base line where none were. */
export function bars(buckets: readonly Bucket[], height: number): { ok: string; bad: string; none: string } {
  const most = Math.max(1, ...buckets.map(({ calls }) => calls))
  let [ok, bad, none] = ['', '', '']
  for (const [at, { calls, failed }] of buckets.entries()) {
    if (calls === 0) {
      none += rect(at * 3, height - 1, 2, 1)
      continue
    }
    // one call among a thousand, and one failure among a hundred calls, are still seen
    const all = Math.max(failed > 0 && failed < calls ? 3 : 1, Math.round((calls / most) * height))
    const red = failed === 0 ? 0 : Math.max(failed === calls ? all : 2, Math.round((failed / calls) * all))
    if (all > red) ok += rect(at * 3, height - all, 2, all - red)
    if (red > 0) bad += rect(at * 3, height - red, 2, red)
  }
  return { ok, bad, none }
}
