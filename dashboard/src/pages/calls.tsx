import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { CallFilter } from '../../../src/schemas/call.ts'
import type { Range, Stats } from '../../../src/schemas/stats.ts'
import { useApp, useSource } from '../app-context.ts'
import { CallList } from '../components/call-list.tsx'
import { CallDetail } from '../components/call-table.tsx'
import { LatencyChart } from '../components/charts.tsx'
import { ConnectClient } from '../components/connect-client.tsx'
import { Fact, Facts } from '../components/facts.tsx'
import { PageHead } from '../components/page-head.tsx'
import { RangeChoice, rangeOf } from '../components/range-choice.tsx'
import { SearchBox } from '../components/search-box.tsx'
import { Segmented } from '../components/segmented.tsx'
import { Shown } from '../components/shown.tsx'
import { Status } from '../components/status.tsx'
import { causesOf } from '../causes.ts'
import { count, durationParts, percent } from '../format.ts'
import type { PageProps } from '../pages.ts'
import * as sources from '../sources.ts'

const CAUSES_OF = 500
const hours: Readonly<Record<Range, number>> = { '1h': 1, '24h': 24, '7d': 168 }

type Outcomes = 'all' | 'failed' | 'slow'

/** Begin of a range that ends now. */
const since = (range: Range): string => new Date(Date.now() - hours[range] * 3_600_000).toISOString()

function CallFacts({ stats }: { stats: Stats | undefined }) {
  const total = stats?.total
  const [p50, p50Unit] = durationParts(total?.p50_ms)
  const [p95, p95Unit] = durationParts(total?.p95_ms)
  return (
    <Facts>
      <Fact label="Calls" value={count(total?.calls)} />
      <Fact
        label="Failed"
        value={total ? percent(total.failed, total.calls) : '—'}
        note={total && total.failed > 0 && `${count(total.failed)} calls`}
        bad={(total?.failed ?? 0) > 0}
      />
      <Fact label="p50" value={p50} note={p50Unit} />
      <Fact label="p95" value={p95} note={p95Unit} />
    </Facts>
  )
}

function Causes({ from, current, onSelect }: { from: string; current: string; onSelect: (server: string) => void }) {
  const failed = useSource(sources.calls({ failed: true, from, limit: CAUSES_OF })).data.value?.calls ?? []
  const causes = causesOf(failed).slice(0, 6)
  if (causes.length === 0) return null
  return (
    <div class="causes" role="group" aria-label="Failures by cause">
      {causes.map(({ server, text, count: times }) => (
        <button
          key={`${server} ${text}`}
          type="button"
          class="cause"
          aria-pressed={current === server}
          onClick={() => onSelect(server)}
        >
          <span class="num">{count(times)}</span>
          <span class="text">
            <strong>
              <Shown text={server || 'no server'} />
            </strong>{' '}
            <Shown text={text} />
          </span>
        </button>
      ))}
    </div>
  )
}

/** Live until somebody pauses it or reads further down. */
function LiveState({ paused, onToggle }: { paused: boolean; onToggle: () => void }) {
  const { live } = useApp()
  const [tone, word] = paused
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
        {paused ? 'Resume' : 'Pause'}
      </button>
    </>
  )
}

export function Calls({ name: id, query }: PageProps) {
  const { location } = useApp()
  const range = rangeOf(query)
  // it stays: a filter that moves would never be the same one
  const from = useMemo(() => since(range), [range])
  const resource = useSource(sources.stats(range))
  const servers = useSource(sources.servers).data.value?.servers ?? []
  const groups = useSource(sources.groups).data.value?.tool_groups ?? []
  const isUnused = useSource(sources.overview).data.value?.empty_state !== undefined
  const paused = useSignal(false)
  const open = useSignal<string | undefined>(undefined)
  const stats = resource.data.value
  const outcome = (['failed', 'slow'] as const).find((each) => each === query.outcome) ?? 'all'
  const slow = Math.round(stats?.total.p95_ms ?? 1_000)

  useEffect(() => {
    // who reads further down does not want the list to move
    const pause = () => {
      if (scrollY > 600) paused.value = true
    }
    addEventListener('scroll', pause, { passive: true })
    return () => removeEventListener('scroll', pause)
  }, [paused])

  const filter: CallFilter = {
    from,
    ...(outcome === 'failed' && { failed: true }),
    ...(outcome === 'slow' && { min_ms: slow }),
    ...(query.server && { server: query.server }),
    ...(query.endpoint && { endpoint: query.endpoint })
  }
  const key = JSON.stringify({ ...filter, from: range, min_ms: outcome === 'slow' })
  return (
    <>
      <PageHead title="Calls" sub="Tool calls, prompt renders and resource reads, the newest first.">
        <LiveState paused={paused.value} onToggle={() => (paused.value = !paused.value)} />
        <RangeChoice range={range} />
      </PageHead>
      <CallFacts stats={stats} />
      {id !== '' && (
        <section class="panel one" aria-label="Call">
          <CallDetail id={id} />
        </section>
      )}
      {stats && stats.total.calls > 0 && <LatencyChart stats={stats} />}
      <div class="bar">
        <SearchBox
          label="Filter calls"
          placeholder="Filter by tool, caller or error text"
          value={query.q ?? ''}
          onInput={(q) => location.setQuery({ q })}
        />
        <Segmented<Outcomes>
          label="Outcome"
          current={outcome}
          onSelect={(next) => location.setQuery({ outcome: next === 'all' ? undefined : next })}
          options={[
            { id: 'all', label: 'All' },
            { id: 'failed', label: 'Failed', count: stats?.total.failed },
            { id: 'slow', label: 'Slow' }
          ]}
        />
        <select
          class="in fit"
          aria-label="Server"
          value={query.server ?? ''}
          onChange={(event) => location.setQuery({ server: event.currentTarget.value })}
        >
          <option value="">All servers</option>
          {servers.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <select
          class="in fit"
          aria-label="Endpoint"
          value={query.endpoint ?? ''}
          onChange={(event) => location.setQuery({ endpoint: event.currentTarget.value })}
        >
          <option value="">All endpoints</option>
          <option value="/mcp">All tools, /mcp</option>
          <option value="/api/v0">REST, /api/v0</option>
          {groups.map(({ name }) => (
            <option key={name} value={`/v0/groups/${name}/mcp`}>
              Group: {name}
            </option>
          ))}
        </select>
      </div>
      <Causes
        from={from}
        current={outcome === 'failed' ? (query.server ?? '') : '\n'}
        onSelect={(server) =>
          location.setQuery({ outcome: 'failed', server: query.server === server ? undefined : server })
        }
      />
      {isUnused ? (
        <section class="panel">
          <p class="sub">No call has been made yet. Point a client at this gateway and ask it to use a tool.</p>
          <ConnectClient most={1} />
        </section>
      ) : (
        <CallList
          key={key}
          filter={filter}
          text={query.q ?? ''}
          paused={paused.value}
          open={open.value}
          onToggle={(next) => (open.value = open.value === next ? undefined : next)}
          onClear={() =>
            location.setQuery({ q: undefined, outcome: undefined, server: undefined, endpoint: undefined })
          }
        />
      )}
    </>
  )
}
