import { useMemo, useRef } from 'preact/hooks'
import type { CallFilter } from '../../../src/schemas/call.ts'
import type { Overview } from '../../../src/schemas/dashboard/overview.ts'
import type { Range, Stats } from '../../../src/schemas/stats.ts'
import { useApp, useRights, useSource, useSteadySource } from '../app-context.ts'
import { CallDetail } from '../calls/call-detail.tsx'
import { CallList } from '../calls/call-list.tsx'
import { Causes } from '../calls/failure-causes.tsx'
import { FilterBar, type Outcomes } from '../calls/filter-bar.tsx'
import { useDebounced } from '../calls/use-debounced.ts'
import { usePause } from '../calls/use-pause.ts'
import { CallFacts } from '../calls/call-facts.tsx'
import { LatencyChart } from '../calls/charts.tsx'
import { ConnectClient } from '../connect/connect-client.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, Pending } from '../ui/panels.tsx'
import { RangeChoice, rangeOf, rangeText } from '../calls/range-choice.tsx'
import { Status } from '../ui/status.tsx'
import { duration, plural } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import * as sources from '../sources.ts'
import { isPending } from '../store.ts'

const hours: Readonly<Record<Range, number>> = { '1h': 1, '24h': 24, '7d': 168 }
/** Default threshold of slow calls, without statistics. */
const SLOW_MS = 1_000

/** Returns the start of a range that ends now, as ISO 8601. */
const since = (range: Range): string => new Date(Date.now() - hours[range] * 3_600_000).toISOString()

const recorded: Readonly<Record<Overview['recorded'], string>> = {
  nothing: 'Calls are not recorded.',
  calls: 'Arguments and results are not recorded.',
  contents: 'Arguments and results are recorded, with likely secrets removed.'
}

const About = () => {
  const resources = [useSource(sources.overview), useSource(sources.servers)] as const
  const [overview, servers] = [resources[0].data.value, resources[1].data.value?.servers ?? []]
  const { administer, audit } = useRights()
  const recordedNow = servers.filter((server) => server.recorded_until)
  return (
    <>
      {isPending(...resources) && <Pending />}
      {audit
        ? 'Tool calls, prompt renders and resource reads.'
        : 'Your tool calls, prompt renders and resource reads.'}{' '}
      {overview && (
        <>
          {recorded[overview.recorded]}{' '}
          {overview.recorded === 'calls' && recordedNow.length > 0 && (
            <>
              Recorded for a time:{' '}
              {recordedNow.map(({ name }) => (
                <a key={name} href={link('server', name)}>
                  <UntrustedText text={name} />{' '}
                </a>
              ))}
            </>
          )}
          {overview.recorded === 'calls' && administer && <>A server’s page records them for an hour. </>}
          {audit && <a href={link('diagnostics')}>Settings</a>}
        </>
      )}
    </>
  )
}

/** Live state of the list: live until paused by button or by scrolling. */
function LiveState({ isPaused, onToggle }: { isPaused: boolean; onToggle: () => void }) {
  const { live } = useApp()
  const [tone, word] = isPaused
    ? (['off', 'Paused'] as const)
    : live.state.value === 'live'
      ? (['ok', 'Live'] as const)
      : (['warn', live.state.value === 'polling' ? 'Every 5 s' : 'Connecting'] as const)
  return (
    <>
      <span role="status">
        <Status tone={tone} word={word} />
      </span>
      <button type="button" class="btn" onClick={onToggle}>
        {isPaused ? 'Resume' : 'Pause'}
      </button>
    </>
  )
}

const outcomeOf = (query: PageProps['query']): Outcomes =>
  (['failed', 'slow'] as const).find((each) => each === query.outcome) ?? 'all'

/**
 * Returns the threshold of slow calls: p95 at the time the range was chosen. A moving threshold would change the filter
 * constantly.
 */
function useSlow(stats: Stats | undefined): number {
  const known = useRef<{ readonly range: Range; readonly ms: number } | undefined>(undefined)
  if (stats && known.current?.range !== stats.range) {
    known.current = { range: stats.range, ms: Math.round(stats.total.p95_ms ?? SLOW_MS) }
  }
  return known.current?.ms ?? SLOW_MS
}

/** Returns the filter of the list from the URL; absent members do not filter. */
function useFilter(query: PageProps['query'], range: Range, stats: Stats | undefined): CallFilter {
  const outcome = outcomeOf(query)
  const text = useDebounced(query.q ?? '')
  // fixed start: a moving one would change the filter constantly
  const from = useMemo(() => since(range), [range])
  const slow = useSlow(stats)
  const { server, endpoint, cause } = query
  return {
    from,
    ...(outcome === 'failed' && { failed: true }),
    ...(outcome === 'slow' && { min_ms: slow }),
    ...(server && { server }),
    ...(endpoint && { endpoint }),
    ...(cause && { cause }),
    ...(text && { text })
  }
}

/** Returns the number of matching calls if the statistics contain it; they know only the range and failures. */
function totalText({ server, endpoint, cause, text, min_ms, failed }: CallFilter, range: Range, { total }: Stats) {
  if (min_ms !== undefined) return `shown that took ${duration(min_ms)} or more`
  if (server || endpoint || cause || text) return undefined
  return `of ${failed ? plural(total.failed, 'failed call') : plural(total.calls, 'call')} in ${rangeText(range)}`
}

export function Calls({ name: id, query }: PageProps) {
  const { location } = useApp()
  const range = rangeOf(query)
  const { administer, audit } = useRights()
  const resource = useSteadySource(audit ? sources.stats(range) : undefined)
  const isUnused = useSource(sources.overview).data.value?.has_calls === false
  const stats = resource.data.value
  const outcome = outcomeOf(query)
  const filter = useFilter(query, range, stats)
  const { list, isPaused, resume, toggle } = usePause<HTMLDivElement>()
  return (
    <>
      <PageHead title="Calls" sub={<About />}>
        <LiveState isPaused={isPaused} onToggle={toggle} />
        <RangeChoice range={range} />
      </PageHead>
      {audit && <CallFacts stats={stats} />}
      {id !== '' && (
        <section class="panel one" aria-label="Call">
          <CallDetail id={id} />
        </section>
      )}
      {audit && (
        <AsyncContent resource={resource} subject="The charts" rows={3}>
          {(data) => data.total.calls > 0 && <LatencyChart stats={data} />}
        </AsyncContent>
      )}
      <FilterBar query={query} outcome={outcome} failed={stats?.total.failed} />
      {administer && <Causes from={filter.from!} query={query} />}
      {isUnused ? (
        <section class="panel">
          <p class="sub">No call has been made yet. Point a client at this gateway and ask it to use a tool.</p>
          <ConnectClient most={1} />
        </section>
      ) : (
        <div ref={list} class="calls-list">
          <CallList
            filter={filter}
            isPaused={isPaused}
            total={stats && totalText(filter, range, stats)}
            onResume={resume}
            onClear={() =>
              location.setQuery({
                q: undefined,
                outcome: undefined,
                server: undefined,
                endpoint: undefined,
                cause: undefined
              })
            }
          />
        </div>
      )}
    </>
  )
}
