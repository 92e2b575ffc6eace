import { useApp } from '../app-context.ts'
import { absolute, clock, dayOf, relative } from '../format.ts'

/** How long ago; the moment itself on hover. `at`: ISO 8601. */
export function Ago({ at }: { at: string }) {
  const { now } = useApp()
  const moment = Date.parse(at)
  return (
    <time datetime={at} title={absolute(moment)}>
      {relative(moment, now.value)}
    </time>
  )
}

/** The wall clock at a moment, with the day where it is another one; date and zone on hover. `at`: ISO 8601. */
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
