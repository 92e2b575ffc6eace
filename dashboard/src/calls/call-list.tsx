import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { CallEntry, CallFilter } from '../../../src/schemas/call.ts'
import { ApiError, send } from '../api.ts'
import { useSteadySource } from '../app-context.ts'
import { EmptyPanel, ErrorPanel, AsyncContent } from '../ui/panels.tsx'
import { count, plural } from '../format.ts'
import type { CallsPage } from '../sources.ts'
import * as sources from '../sources.ts'
import type { Resource } from '../store.ts'
import { CallTable } from './call-table.tsx'

/** Calls per page. */
const PAGE = 50

interface CallListProps {
  readonly filter: CallFilter
  readonly isPaused: boolean
  /** Number of matching calls if known: `of 92 failed calls in 24 h`. */
  readonly total: string | undefined
  readonly onResume: () => void
  readonly onClear: () => void
}

/** Returns the page shown when the list was paused, and in `newer` the number of calls since. */
function useFrozen(resource: Resource<CallsPage>, newest: CallsPage | undefined, isPaused: boolean) {
  const frozen = useRef<{ resource: Resource<CallsPage>; page: CallsPage } | undefined>(undefined)
  if (!isPaused || frozen.current?.resource !== resource) frozen.current = undefined
  if (isPaused && newest) frozen.current ??= { resource, page: newest }
  const page = frozen.current?.page ?? newest
  const known = new Set(page?.calls.map(({ id }) => id))
  const newer = newest?.calls.filter(({ id }) => !known.has(id)).length ?? 0
  return { page, newer }
}

/** Loads older pages of one filter. */
function useOlder(filter: CallFilter) {
  const { path } = sources.calls(filter)
  const loaded = useSignal<(CallsPage & { readonly of: string }) | undefined>(undefined)
  const failure = useSignal<ApiError | undefined>(undefined)
  const older = loaded.value?.of === path ? loaded.value : undefined
  const more = async (before: string) => {
    try {
      const { body } = await send<CallsPage>('GET', sources.calls({ ...filter, limit: PAGE, before }).path)
      loaded.value = { ...body, calls: [...(older?.calls ?? []), ...body.calls], of: path }
      failure.value = undefined
    } catch (error) {
      failure.value = error as ApiError
    }
  }
  return { older, more, failure }
}

/** List of the newest matching calls, kept up to date unless paused; older ones load on demand. */
export function CallList({ filter, isPaused, total, onResume, onClear }: CallListProps) {
  const resource = useSteadySource(sources.calls({ ...filter, limit: PAGE }))
  const { page, newer } = useFrozen(resource, resource.data.value, isPaused)
  const { older, more, failure } = useOlder(filter)
  const open = useSignal<string | undefined>(undefined)
  const key = JSON.stringify(filter)
  useEffect(() => {
    open.value = undefined
  }, [key, open])

  const list = (first: CallsPage) => {
    const known = new Set(first.calls.map(({ id }) => id))
    const all: CallEntry[] = [...first.calls, ...(older?.calls ?? []).filter(({ id }) => !known.has(id))]
    const before = older ? older.next_before : first.next_before
    if (all.length === 0) {
      return (
        <EmptyPanel title="No matching calls">
          <button type="button" class="btn" onClick={onClear}>
            Clear filters
          </button>
        </EmptyPanel>
      )
    }
    return (
      <>
        {newer > 0 && (
          <button type="button" class="newer" onClick={onResume}>
            {plural(newer, 'newer call')}
            {newer === PAGE && ' or more'}: show
          </button>
        )}
        <CallTable
          label="Calls"
          calls={all}
          open={open.value}
          onToggle={(id) => (open.value = open.value === id ? undefined : id)}
        />
        {failure.value && (
          <ErrorPanel
            title="Older calls could not be loaded."
            error={failure.value}
            onRetry={() => before && more(before)}
          />
        )}
        <div class="row more">
          <span class="muted" role="status">
            {before ? `${count(all.length)} ${total ?? 'shown'}` : plural(all.length, 'call')}
          </span>
          {before && (
            <button type="button" class="btn" onClick={() => void more(before)}>
              Load older
            </button>
          )}
        </div>
      </>
    )
  }
  return (
    <AsyncContent resource={resource} subject="The calls">
      {(newest) => list(page ?? newest)}
    </AsyncContent>
  )
}
