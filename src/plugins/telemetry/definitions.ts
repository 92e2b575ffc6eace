import { outcomes } from '../../observe/observation.ts'

export interface Metric {
  /** Name in the Prometheus output. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly about: string
  /** Label names with a description of their values. */
  readonly labels: Readonly<Record<string, string>>
  /** Upper bounds of a histogram. */
  readonly bounds?: readonly number[]
}

/** Label value for names that are not of the registry, the routes or HTTP's methods. */
export const OTHER = 'other'

const server = { mcp_server_name: `name of the server; \`${OTHER}\` if the requested item does not exist` }
const outcome = { outcome: outcomes.map((each) => `\`${each}\``).join(', ') }

/** From half a millisecond, the gateway's own share, to minutes. */
const callBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** All metrics: created by `metrics.ts`, listed in docs/reference/metrics.md. */
export const definitions = {
  toolCalls: {
    name: 'towpath_tool_calls_total',
    type: 'counter',
    about: 'Tool calls, over MCP and REST',
    labels: {
      ...server,
      tool_name: `name of the tool on its server; \`${OTHER}\` if the server is unknown`,
      ...outcome
    }
  },
  toolCallLatency: {
    name: 'towpath_tool_call_latency_seconds',
    type: 'histogram',
    about: 'Duration of a tool call, without the time in which it waited for input from its caller',
    labels: {
      ...server,
      part: '`upstream`: connecting and waiting for the server; `gateway`: everything else'
    },
    bounds: callBounds
  },
  promptGets: {
    name: 'towpath_prompt_gets_total',
    type: 'counter',
    about: 'Prompts requested, over MCP and REST',
    labels: { ...server, ...outcome }
  },
  resourceReads: {
    name: 'towpath_resource_reads_total',
    type: 'counter',
    about: 'Resources read, over MCP and REST',
    labels: { ...server, ...outcome }
  },
  completions: {
    name: 'towpath_completions_total',
    type: 'counter',
    about: 'Completion requests sent to servers',
    labels: { ...server, ...outcome }
  },
  policyDecisions: {
    name: 'towpath_policy_decisions_total',
    type: 'counter',
    about: 'Calls that a policy decided on; in mode `observe`, calls that it would decide on',
    labels: { effect: '`allow`, `deny`', mode: '`enforce`, `observe`' }
  },
  searches: {
    name: 'towpath_search_seconds',
    type: 'histogram',
    about: 'Duration of a query of `find_tools`, until its answer was ready',
    labels: {},
    bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
  },
  searchHits: {
    name: 'towpath_search_hits_total',
    type: 'counter',
    about: 'Calls after a query of `find_tools`, by the position of the tool in its answer',
    labels: { rank: 'position from `1`; `none`: the tool was not in the answer' }
  },
  failedAuthentications: {
    name: 'towpath_failed_authentications_total',
    type: 'counter',
    about: 'Requests without a valid access token, to routes that require one',
    labels: {}
  },
  lists: {
    name: 'towpath_list_requests_total',
    type: 'counter',
    about: 'Pages of lists requested over MCP; lists are served from memory',
    labels: { kind: '`tool`, `prompt`, `resource`, `template`' }
  },
  connects: {
    name: 'towpath_upstream_connects_total',
    type: 'counter',
    about: 'Sessions, processes, event streams and connection pools opened to servers',
    labels: { ...server, transport: '`streamable_http`, `sse`, `stdio`' }
  },
  connectTime: {
    name: 'towpath_upstream_connect_seconds',
    type: 'histogram',
    about: 'Time to open a session, process, event stream or connection pool',
    labels: { transport: '`streamable_http`, `sse`, `stdio`' },
    bounds: callBounds
  },
  failures: {
    name: 'towpath_upstream_failures_total',
    type: 'counter',
    about: 'Failed connections and calls to servers',
    labels: {
      ...server,
      reason:
        '`unreachable`, `timeout`, `crashed`, `auth`, `overloaded`, `too_large`, `bad_response`, `denied`, `limited`, `unreadable`'
    }
  },
  breaker: {
    name: 'towpath_upstream_breaker_state',
    type: 'gauge',
    about:
      'Circuit breaker of a server: 0 closed, 1 half-open (one call is tried), 2 open. Only servers that were called',
    labels: { ...server }
  },
  serverUp: {
    name: 'towpath_server_up',
    type: 'gauge',
    about:
      'Last contact with a server by this process: 1 succeeded, 0 failed or a sign-in is needed. Only enabled servers that were contacted',
    labels: { ...server }
  },
  heldDefinitions: {
    name: 'towpath_definitions_held',
    type: 'gauge',
    about: 'Definitions of a server that wait for a decision. 0 where its policy is `follow`',
    labels: { ...server }
  },
  sessions: {
    name: 'towpath_sessions',
    type: 'gauge',
    about: 'MCP sessions of clients in this process',
    labels: {}
  },
  streams: {
    name: 'towpath_streams',
    type: 'gauge',
    about: 'Listening streams of clients, including broken ones that can still be resumed',
    labels: {}
  },
  spares: {
    name: 'towpath_spare_sessions',
    type: 'gauge',
    about: 'Spare sessions, ready for the next call. Only stateless servers that were called',
    labels: { ...server, transport: '`streamable_http`, `sse`, `stdio`' }
  },
  sessionsTaken: {
    name: 'towpath_spare_session_requests_total',
    type: 'counter',
    about: 'Calls to stateless servers that could use a spare session',
    labels: { ...server, result: '`hit`: a spare session was ready; `miss`: the call waited for a new one' }
  },
  processes: {
    name: 'towpath_stdio_processes',
    type: 'gauge',
    about: 'Processes of stdio servers, including those that are ending',
    labels: {}
  },
  queue: {
    name: 'towpath_queue_length',
    type: 'gauge',
    about: 'Length of a queue',
    labels: {
      queue:
        '`stdio_process`: calls that wait for a process; `parked_call`: calls that wait for input from their caller; ' +
        '`approval`: calls that wait for an approver; ' +
        '`call_log`, `audit_log`: rows to be stored'
    }
  },
  lostRows: {
    name: 'towpath_log_rows_dropped_total',
    type: 'counter',
    about: 'Lost log rows, because the database was unavailable for too long or could not store them',
    labels: { log: '`call_log`; `audit_log`: refused requests only, never changes' }
  },
  catalogVersion: {
    name: 'towpath_catalog_version',
    type: 'gauge',
    about: 'Registry version that this process serves; equal on all replicas that are up to date',
    labels: {}
  },
  groupTokens: {
    name: 'towpath_group_tokens',
    type: 'gauge',
    about: 'Estimated tokens of the tools of a group',
    labels: { group: 'name of the group' }
  },
  listTokens: {
    name: 'towpath_list_tokens',
    type: 'gauge',
    about: 'Estimated tokens of the tools that the endpoint of a group lists; in search mode these are few',
    labels: { group: 'name of the group' }
  },
  catalogSwap: {
    name: 'towpath_catalog_swap_seconds',
    type: 'histogram',
    about: 'Time to apply a new version of the registry',
    labels: {},
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
  },
  eventLoop: {
    name: 'towpath_event_loop_delay_seconds',
    type: 'gauge',
    about: 'Event loop delay since the last scrape',
    labels: { stat: '`mean`, `p50`, `p99`, `max`' }
  },
  database: {
    name: 'towpath_database_pool',
    type: 'gauge',
    about: 'Connections to PostgreSQL; absent with the embedded store',
    labels: { state: '`size`, `idle`, `waiting` (for a connection)' }
  },
  http: {
    name: 'towpath_http_request_duration_seconds',
    type: 'histogram',
    about: 'Duration of HTTP requests, until the response was complete; for a stream, until it was closed',
    labels: {
      method: `\`GET\`, \`POST\` …, \`${OTHER}\``,
      route: `route pattern, for example \`/v0/groups/:name/mcp\`; \`${OTHER}\` for an unknown path`,
      status: '`1xx` to `5xx`'
    },
    bounds: callBounds
  },
  cpu: {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    about: 'CPU time of the process',
    labels: {}
  },
  memory: {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    about: 'Resident memory of the process',
    labels: {}
  }
} as const satisfies Record<string, Metric>

const row = ({ name, type, about, labels }: Metric) => {
  const listed = Object.entries(labels).map(([label, values]) => `\`${label}\`: ${values}`)
  return `| \`${name}\` | ${type} | ${about}. | ${listed.join('<br>')} |`
}

/** Returns the text of docs/reference/metrics.md. */
export const metricsReference = (): string =>
  `# Metrics

With \`OTEL_ENABLED\` (on in enterprise mode, off in development mode) \`GET /metrics\` serves metrics in the Prometheus text
format, on the same port as everything else. The output contains names of servers, tools and routes, but no address,
argument, result, user or client name, or secret. If those names are confidential, set \`TOWPATH_METRICS_TOKEN\`, which makes
the route require a bearer token, or block the path at the reverse proxy.

Each process counts separately, from its start. Labels have a closed set of values. Each metric has at most 50,000 series;
further ones are counted in one series with the label \`otel_metric_overflow\`.

This page is generated from \`src/plugins/telemetry/definitions.ts\`.

<!-- prettier-ignore -->
| Metric | Type | Description | Labels |
|---|---|---|---|
${Object.values<Metric>(definitions).map(row).join('\n')}
`
