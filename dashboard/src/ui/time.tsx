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

/** Wall clock time, with the day if it is not today; date and zone on hover. `at`: ISO 8601. */
export const Clock = ({ at }: { at: string }) => {
  const { now } = useApp()
  const moment = Date.parse(at)
  const isToday = dayOf(moment) === dayOf(now.value)
  return (
    <time datetime={at} title={absolute(moment)}>
      {!isToday && `${dayOf(moment)} `}
      {clock(moment)}
    </time>
  )
}
