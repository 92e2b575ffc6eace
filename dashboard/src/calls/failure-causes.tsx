import type { CallCause } from '../../../src/schemas/call.ts'
import { useApp, useSteadySource } from '../app-context.ts'
import { Pending } from '../ui/panels.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { count } from '../format.ts'
import * as sources from '../sources.ts'
import { isPending } from '../store.ts'

const MAX_CAUSES = 6

const words: Readonly<Partial<Record<CallCause['outcome'], string>>> = {
  tool_error: 'the tool reported an error',
  timeout: 'no answer in time'
}

interface CauseButtonProps {
  readonly cause: Partial<CallCause> & Pick<CallCause, 'cause'>
  readonly isOn: boolean
  readonly onClick: () => void
}

const CauseButton = ({ cause: { server, cause, calls, error, outcome }, isOn, onClick }: CauseButtonProps) => (
  <button type="button" class="cause" aria-pressed={isOn} onClick={onClick}>
    {calls !== undefined && <span class="num">{count(calls)}</span>}
    <span class="text">
      <strong>
        <UntrustedText text={server ?? 'no server'} />
      </strong>{' '}
      <UntrustedText text={error ?? (outcome && words[outcome]) ?? cause} />
    </span>
  </button>
)

interface CausesProps {
  readonly from: string
  readonly query: Readonly<Record<string, string>>
}

/** Causes of failed calls. A click filters by server and cause; a second click removes the filter. */
export function Causes({ from, query }: CausesProps) {
  const { location } = useApp()
  const { endpoint } = query
  const resource = useSteadySource(sources.causes({ from, ...(endpoint && { endpoint }) }))
  const found = resource.data.value?.causes ?? []
  const isOn = ({ server = '', cause }: Pick<CallCause, 'server' | 'cause'>) =>
    cause === query.cause && server === (query.server ?? '')
  const shown = found.slice(0, MAX_CAUSES)
  const chosen = query.cause ? { cause: query.cause, ...(query.server && { server: query.server }) } : undefined
  const extra = chosen && !shown.some(isOn) ? (found.find(isOn) ?? chosen) : undefined
  const all = extra ? [...shown, extra] : shown
  if (isPending(resource)) return <Pending />
  if (all.length === 0) return null
  return (
    <div class="causes" role="group" aria-label="Failures by cause">
      {all.map((each) => (
        <CauseButton
          key={`${each.server} ${each.cause}`}
          cause={each}
          isOn={isOn(each)}
          onClick={() =>
            location.setQuery(
              isOn(each)
                ? { cause: undefined, server: undefined }
                : { outcome: 'failed', cause: each.cause, server: each.server }
            )
          }
        />
      ))}
    </div>
  )
}
