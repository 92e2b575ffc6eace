import type { Phase } from './call-text.ts'

/** Bar with the phases of a call, each as wide as its share of the time. The table below holds the numbers. */
export function PhaseBar({ phases }: { phases: readonly Phase[] }) {
  const timed = phases.filter(({ ms }) => ms !== undefined && ms > 0)
  const whole = timed.reduce((sum, { ms }) => sum + ms!, 0)
  if (timed.length < 2) return null
  let at = 0
  return (
    <svg class="phases" viewBox="0 0 100 6" preserveAspectRatio="none" height="6" aria-hidden="true">
      {timed.map(({ id, ms, isEnd }) => {
        const width = (ms! / whole) * 100
        const x = at
        at += width
        return <rect key={id} class={isEnd ? 'e' : id} x={x} width={width} height="6" />
      })}
    </svg>
  )
}
