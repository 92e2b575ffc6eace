import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { CallEntry, CallFilter } from '../../../src/schemas/call.ts'
import { send } from '../api.ts'
import { useSource } from '../app-context.ts'
import { count } from '../format.ts'
import * as sources from '../sources.ts'
import { calledItem, CallTable } from './call-table.tsx'
import { EmptyPanel, Loaded } from './panels.tsx'

/** Calls that are loaded at a time. */
const PAGE = 50

const matches = (call: CallEntry, text: string) =>
  [calledItem(call), call.caller, call.error ?? ''].some((each) => each.toLowerCase().includes(text.toLowerCase()))

interface Listed {
  readonly calls: readonly CallEntry[]
  readonly next_before?: string
}

interface CallListProps {
  readonly filter: CallFilter
  readonly text: string
  readonly paused: boolean
  readonly open: string | undefined
  readonly onToggle: (id: string) => void
  readonly onClear: () => void
}

/** The newest calls that fit, kept up to date unless it is paused; older ones on demand. */
export function CallList({ filter, text, paused, open, onToggle, onClear }: CallListProps) {
  const resource = useSource(sources.calls({ ...filter, limit: PAGE }))
  const frozen = useSignal<Listed | undefined>(undefined)
  const older = useSignal<Listed | undefined>(undefined)
  useEffect(() => {
    frozen.value = paused ? resource.data.value : undefined
  }, [paused, resource, frozen])

  return (
    <Loaded resource={resource} what="The calls">
      {(newest) => {
        const first: Listed = frozen.value ?? newest
        const known = new Set(first.calls.map(({ id }) => id))
        const all = [...first.calls, ...(older.value?.calls ?? []).filter(({ id }) => !known.has(id))]
        const before = older.value ? older.value.next_before : first.next_before
        const shown = text === '' ? all : all.filter((call) => matches(call, text))
        const more = async () => {
          const { body } = await send<Listed>('GET', sources.calls({ ...filter, limit: PAGE, before: before! }).path)
          older.value = { ...body, calls: [...(older.value?.calls ?? []), ...body.calls] }
        }
        return (
          <>
            {shown.length === 0 ? (
              <EmptyPanel title="No call fits">
                <button type="button" class="btn" onClick={onClear}>
                  Clear filters
                </button>
              </EmptyPanel>
            ) : (
              <CallTable label="Calls" calls={shown} open={open} onToggle={onToggle} />
            )}
            <div class="row more">
              <span class="muted" role="status">
                {text === ''
                  ? `${count(all.length)} shown`
                  : `${count(shown.length)} of the ${count(all.length)} that are loaded`}
              </span>
              {before && (
                <button type="button" class="btn" onClick={() => void more()}>
                  Load older
                </button>
              )}
            </div>
          </>
        )
      }}
    </Loaded>
  )
}
