import type { Overview as OverviewData } from '../../../src/schemas/dashboard/overview.ts'
import type { Stats } from '../../../src/schemas/stats.ts'
import { useSignal } from '@preact/signals'
import { useApp, useRights, useSource, useSteadySource } from '../app-context.ts'
import { AttentionList } from '../servers/attention.tsx'
import { CountFacts, DurationFact } from '../calls/call-facts.tsx'
import { CallTable } from '../calls/call-table.tsx'
import { VolumeChart } from '../calls/charts.tsx'
import { ConnectClient } from '../connect/connect-client.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { AddServerLink, FirstSteps, useNextStep } from '../start/first-steps.tsx'
import { NothingAllowed } from '../shell/who-can-help.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { RangeChoice, rangeOf } from '../calls/range-choice.tsx'
import { QualifiedName } from '../ui/untrusted-text.tsx'
import { count, duration, percent } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import type { Resource } from '../store.ts'
import { TableHead } from '../ui/table-head.tsx'

interface OverviewFactsProps {
  readonly overview: OverviewData | undefined
  readonly stats: Stats | undefined
  /** True if the viewer may read the figures of all people. */
  readonly isAuditor: boolean
}

const OverviewFacts = ({ overview, stats, isAuditor }: OverviewFactsProps) => (
  <Facts>
    <Fact
      label="Servers up"
      value={count(overview?.connected_count)}
      note={overview && `of ${overview.enabled_count} enabled`}
    />
    <Fact
      label="Tools served"
      value={count(overview?.tool_count)}
      note={overview && `~${count(overview.tokens)} tokens`}
    />
    {isAuditor && (
      <>
        <CountFacts total={stats?.total} />
        <DurationFact label="p50" ms={stats?.total.p50_ms} />
        <DurationFact label="p95" ms={stats?.total.p95_ms} />
      </>
    )}
  </Facts>
)

interface ToolRowsProps {
  readonly title: string
  readonly tools: Stats['top_tools']
  readonly empty: string
}

const ToolRows = ({ title, tools, empty }: ToolRowsProps) => (
  <section class="panel flush" aria-label={title}>
    <h2 class="phead">{title}</h2>
    {tools.length === 0 ? (
      <p class="pad muted">{empty}</p>
    ) : (
      <table class="slim">
        <TableHead columns={['Tool', ['Calls', 'num'], ['Failed', 'num opt2'], ['p95', 'num']]} />
        <tbody>
          {tools.map(({ server, tool, calls, failed, p95_ms }) => (
            <tr key={`${server}__${tool}`}>
              <th scope="row">
                <a class="plain" data-row href={link('tool', `${server}__${tool}`)}>
                  <QualifiedName name={`${server}__${tool}`} />
                </a>
              </th>
              <td class="num">{count(calls)}</td>
              <td class="num opt2">{percent(failed, calls)}</td>
              <td class="num">{duration(p95_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </section>
)

const Endpoints = ({ endpoints }: { endpoints: OverviewData['endpoints'] }) => (
  <ul class="endpoints">
    {endpoints.map(({ label, url }) => (
      <li key={url} class="row">
        <span>
          <span class="help blk">{label}</span>
          <code class="url">{url}</code>
        </span>
        <CopyButton text={url} kind="sm">
          Copy URL
        </CopyButton>
      </li>
    ))}
  </ul>
)

const Attention = ({ overview }: { overview: OverviewData }) => {
  const { attention, attention_count, server_count, enabled_count, connected_count } = overview
  const nothing =
    server_count === 0
      ? 'No server is registered yet.'
      : enabled_count === 0
        ? 'Nothing: every server is disabled.'
        : connected_count < enabled_count
          ? 'Nothing. Some servers have not been contacted yet.'
          : 'Nothing: every enabled server answers.'
  return (
    <section class="panel" aria-label="Needs attention">
      <div class="row">
        <h2>Needs attention</h2>
        {attention_count > 5 && <a href={link('diagnostics')}>All {count(attention_count)}</a>}
      </div>
      {attention_count === 0 ? <p class="sub">{nothing}</p> : <AttentionList items={attention.slice(0, 5)} />}
    </section>
  )
}

/** Shown instead of the charts while no call has been made; `isEmpty`: the viewer may use nothing. */
const NoCalls = ({ isEmpty }: { isEmpty: boolean }) =>
  isEmpty ? (
    <NothingAllowed thing="tool" />
  ) : (
    <section class="panel below">
      <p class="sub">No call has been made yet. Point a client at this gateway and ask it to use a tool.</p>
      <ConnectClient most={1} />
    </section>
  )

const ToolPanels = ({ stats }: { stats: Stats }) => (
  <>
    <ToolRows title="Top tools" tools={stats.top_tools} empty="No tool was called." />
    <ToolRows title="Slowest tools" tools={stats.slowest_tools} empty="No tool was called." />
  </>
)

/** Newest calls of a user, who reads no figures of other people. */
function OwnCalls() {
  const calls = useSource(sources.calls({ limit: 5 }))
  const open = useSignal<string | undefined>(undefined)
  return (
    <section class="panel below" aria-label="Your calls">
      <h2>Your calls</h2>
      <AsyncContent resource={calls} subject="Your calls">
        {({ calls: newest }) => (
          <CallTable
            label="Your newest calls"
            calls={newest}
            open={open.value}
            onToggle={(id) => (open.value = open.value === id ? undefined : id)}
          />
        )}
      </AsyncContent>
      <p class="more">
        <a href={link('calls')}>All your calls</a>
      </p>
    </section>
  )
}

interface FiguresProps {
  readonly stats: Resource<Stats>
}

/** Chart of all calls. */
const Volume = ({ stats }: FiguresProps) => (
  <div class="chart-place">
    <AsyncContent resource={stats} subject="The statistics">
      {(numbers) => <VolumeChart stats={numbers} />}
    </AsyncContent>
  </div>
)

/** Overview. Its parts load separately, so that one error leaves the others intact. */
export function Overview({ query }: PageProps) {
  const range = rangeOf(query)
  const overview = useSource(sources.overview)
  const { administer, audit, call } = useRights()
  const stats = useSteadySource(audit ? sources.stats(range) : undefined)
  const isUnused = overview.data.value?.has_calls === false
  const { showFirstSteps } = useApp().preferences
  const isAddOffered = useNextStep() === 'add'
  return (
    <>
      <PageHead title="Overview">
        {audit && !isUnused && <RangeChoice range={range} />}
        {administer && !isAddOffered && <AddServerLink />}
      </PageHead>
      <FirstSteps />
      {(!isUnused || overview.data.value?.server_count !== 0) && (
        <OverviewFacts overview={overview.data.value} stats={stats.data.value} isAuditor={audit} />
      )}
      {isUnused ? (
        !(administer && showFirstSteps.value) && <NoCalls isEmpty={!audit && overview.data.value?.tool_count === 0} />
      ) : audit ? (
        <Volume stats={stats} />
      ) : (
        <OwnCalls />
      )}
      <div class="split even">
        <div class="column">
          <AsyncContent resource={overview} subject="The overview" rows={5}>
            {(data) => (
              <>
                {audit && <Attention overview={data} />}
                <section class="panel" aria-label="Endpoints">
                  <h2>Endpoints</h2>
                  <Endpoints endpoints={data.endpoints} />
                </section>
              </>
            )}
          </AsyncContent>
        </div>
        <div class="column">{stats.data.value && !isUnused && <ToolPanels stats={stats.data.value} />}</div>
      </div>
      {call && !isUnused && (
        <section class="panel below">
          <ConnectClient most={1} />
        </section>
      )}
    </>
  )
}
