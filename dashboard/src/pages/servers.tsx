import type { ServerView } from '../../../src/schemas/dashboard/servers.ts'
import { change, path } from '../api.ts'
import { useApp, useRights, useSource } from '../app-context.ts'
import { CountFacts, DurationFact } from '../calls/call-facts.tsx'
import { ConnectClient } from '../connect/connect-client.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { NothingAllowed } from '../shell/who-can-help.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AddServerActions, AddServerLink, FirstSteps, useNextStep } from '../start/first-steps.tsx'
import { EmptyPanel, AsyncContent } from '../ui/panels.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { Segmented } from '../ui/segmented.tsx'
import { nextSort, parseSort, sortServers, type Sort, type SortKey } from '../servers/server-order.ts'
import { ServerRows } from '../servers/server-rows.tsx'
import { SortHead } from '../ui/sort-head.tsx'
import { Table } from '../ui/table.tsx'
import { count } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import { needsAttention, targetOf } from '../servers/server-state.ts'
import { matches, wordsOf } from '../tools/filter.ts'
import * as sources from '../sources.ts'

type State = 'all' | 'attention' | 'disabled'

const fits: Readonly<Record<State, (server: ServerView) => boolean>> = {
  all: () => true,
  attention: needsAttention,
  disabled: ({ enabled }) => !enabled
}

const isMatch = ({ name, description = '', config_summary }: ServerView, text: string) =>
  matches([name, description, targetOf(config_summary)].join(' '), wordsOf(text))

function ServerFacts({ servers }: { servers: readonly ServerView[] }) {
  const overview = useSource(sources.overview).data.value
  const { audit } = useRights()
  const total = useSource(audit ? sources.stats('24h') : undefined).data.value?.total
  const enabled = servers.filter((server) => server.enabled)
  const connected = servers.filter(({ status }) => status === 'connected').length
  const tools = servers.reduce((sum, { tool_count }) => sum + tool_count, 0)
  const off = overview ? tools - overview.tool_count : 0
  return (
    <Facts>
      <Fact label="Servers up" value={connected} note={`of ${enabled.length} enabled`} />
      <Fact label="Tools served" value={count(overview?.tool_count)} note={off > 0 && `${count(off)} disabled`} />
      {audit && (
        <>
          <CountFacts label="Calls, 24 h" total={total} />
          <DurationFact label="p95" ms={total?.p95_ms} />
        </>
      )}
    </Facts>
  )
}

/** Replaces the table while there is no server, unless the checklist of the first steps shows the same actions. */
function NoServers() {
  const isOffered = useNextStep() === 'add'
  const { administer, audit } = useRights()
  if (!administer) {
    return audit ? <EmptyPanel title="No server is registered yet" /> : <NothingAllowed thing="server" />
  }
  return isOffered ? null : (
    <EmptyPanel title="Add the first server">
      <p>Agents see the tools of the servers that you add here.</p>
      <AddServerActions />
    </EmptyPanel>
  )
}

/** Buttons of the page's head. */
function AddLinks() {
  if (!useRights().administer) return null
  return (
    <>
      <a class="btn" href={link('new-server', '', { tab: 'paste' })}>
        Import mcp.json
      </a>
      <AddServerLink />
    </>
  )
}

/** Heads of the table of servers; those with a value sort it. */
function ServerHeads({ sort }: { sort: Sort | undefined }) {
  const { location } = useApp()
  const { audit } = useRights()
  const props = (key: SortKey) => ({
    direction: sort?.key === key ? (sort.isDescending ? ('descending' as const) : ('ascending' as const)) : undefined,
    onSort: () => location.setQuery({ sort: nextSort(sort, key) })
  })
  return (
    <tr>
      <SortHead {...props('name')}>Server</SortHead>
      <SortHead {...props('status')}>Status</SortHead>
      <SortHead {...props('transport')} kind="opt opt0">
        Transport
      </SortHead>
      <SortHead {...props('tools')} kind="num opt2">
        Tools <span class="muted">/ prompts</span>
      </SortHead>
      {audit && (
        <>
          <SortHead {...props('recent')} kind="opt">
            Calls, 24 h
          </SortHead>
          <SortHead {...props('calls')} kind="num opt1 opt2">
            Total
          </SortHead>
          <SortHead {...props('p95')} kind="num opt">
            p95
          </SortHead>
          <SortHead {...props('failed')} kind="num opt2">
            Failed
          </SortHead>
          <SortHead {...props('enabled')}>Enabled</SortHead>
        </>
      )}
    </tr>
  )
}

function ServerTable({ servers, query }: { servers: readonly ServerView[]; query: PageProps['query'] }) {
  const { location, store } = useApp()
  const { audit } = useRights()
  const state = query.state && query.state in fits ? (query.state as State) : 'all'
  const text = query.q ?? ''
  const sort = parseSort(query.sort)
  const shown = sortServers(
    servers.filter((server) => fits[state](server) && isMatch(server, text)),
    sort
  )
  const onSwitch = async (name: string, enabled: boolean) => {
    await change('PATCH', path('servers', name, 'enabled'), { enabled })
    await store.refresh(new Set(['servers']))
  }
  return (
    <>
      <div class="bar">
        <SearchBox
          label="Filter servers"
          placeholder={audit ? 'Filter by name, URL or command' : 'Filter by name'}
          value={text}
          onInput={(q) => location.setQuery({ q })}
        />
        {audit && (
          <Segmented
            label="Status filter"
            current={state}
            onSelect={(next) => location.setQuery({ state: next === 'all' ? undefined : next })}
            options={[
              { id: 'all', label: 'All' },
              { id: 'attention', label: 'Needs attention', count: servers.filter(needsAttention).length },
              { id: 'disabled', label: 'Disabled', count: servers.filter(fits.disabled).length }
            ]}
          />
        )}
      </div>
      {shown.length === 0 ? (
        <EmptyPanel title={text ? `No server matches “${text}”` : 'No server is in this state'}>
          <button type="button" class="btn" onClick={() => location.setQuery({ q: undefined, state: undefined })}>
            Clear
          </button>
        </EmptyPanel>
      ) : (
        <Table label="Servers" kind={audit ? 'servers' : undefined}>
          <thead>
            <ServerHeads sort={sort} />
          </thead>
          <tbody>
            {shown.map((server) => (
              <ServerRows key={server.name} server={server} onSwitch={onSwitch} />
            ))}
          </tbody>
        </Table>
      )}
    </>
  )
}

export function Servers({ query }: PageProps) {
  const servers = useSource(sources.servers)
  const isEmpty = servers.data.value?.servers.length === 0
  const endpoint = useSource(sources.overview).data.value?.endpoints[0]?.url
  return (
    <>
      <PageHead
        title="Servers"
        sub={
          <>
            Upstream MCP servers. Enabled servers appear on {endpoint ? <code>{endpoint}</code> : 'the MCP endpoint'}.
          </>
        }
      >
        {!isEmpty && <AddLinks />}
      </PageHead>
      <FirstSteps />
      <AsyncContent resource={servers} subject="The servers">
        {({ servers: all }) =>
          all.length === 0 ? (
            <NoServers />
          ) : (
            <>
              <ServerFacts servers={all} />
              <ServerTable servers={all} query={query} />
              <section class="panel below">
                <ConnectClient most={1} />
              </section>
            </>
          )
        }
      </AsyncContent>
    </>
  )
}
