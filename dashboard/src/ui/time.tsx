import { useApp } from '../app-context.ts'
import { absolute, clock, dayOf, relative } from '../format.ts'

/** Relative time; the exact time on hover. `at`: ISO 8601. */
export function Ago({ at }: { at: string }) {
  const { now } = useApp()
  const moment = Date.parse(at)
  return (
    <time datetime={at} title={absolute(moment)}>
      {relative(moment, now.value)}
    </time>
  )
}

interface ClockProps {
  /** ISO 8601. */
  readonly at: string
  /** False below a heading with the day. */
  readonly hasDay?: boolean
}

/** Wall clock time, with the day if it is not today; date and zone on hover. */
export const Clock = ({ at, hasDay = true }: ClockProps) => {
  const { now } = useApp()
  const moment = Date.parse(at)
  const isToday = dayOf(moment) === dayOf(now.value)
  return (
    <time datetime={at} title={absolute(moment)}>
      {hasDay && !isToday && `${dayOf(moment)} `}
      {clock(moment)}
    </time>
  )
}
