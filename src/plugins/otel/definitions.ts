import { outcomes } from '../../gateway/observation.ts'

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

const server = { mcp_server_name: `name of the server; \`${OTHER}\` where the caller asked for what is not there` }
const outcome = { outcome: outcomes.map((each) => `\`${each}\``).join(', ') }

/** From half a millisecond, the gateway's own share, to minutes. */
const callBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** All metrics: created by `metrics.ts`, listed in docs/reference/metrics.md. */
export const definitions = {
  toolCalls: {
    name: 'towpath_tool_calls_total',
    type: 'counter',
    about: 'Calls of tools, over MCP and REST',
    labels: { ...server, tool_name: `the tool as its server calls it; \`${OTHER}\` with an unknown server`, ...outcome }
  },
  toolCallLatency: {
    name: 'towpath_tool_call_latency_seconds',
    type: 'histogram',
    about: 'Time of a call of a tool, without the time in which its caller was asked for input',
    labels: {
      ...server,
      part: '`upstream`: connecting and waiting for the server; `gateway`: everything else'
    },
    bounds: callBounds
  },
  promptGets: {
    name: 'towpath_prompt_gets_total',
    type: 'counter',
    about: 'Prompts that were asked for, over MCP and REST',
    labels: { ...server, ...outcome }
  },
  resourceReads: {
    name: 'towpath_resource_reads_total',
    type: 'counter',
    about: 'Resources that were read, over MCP and REST',
    labels: { ...server, ...outcome }
  },
  completions: {
    name: 'towpath_completions_total',
    type: 'counter',
    about: 'Completions that were asked of servers',
    labels: { ...server, ...outcome }
  },
  failedAuthentications: {
    name: 'towpath_failed_authentications_total',
    type: 'counter',
    about: 'Requests without a valid access token, where one is needed',
    labels: {}
  },
  lists: {
    name: 'towpath_list_requests_total',
    type: 'counter',
    about: 'Pages of lists that were asked for over MCP; no server is contacted for them',
    labels: { kind: '`tool`, `prompt`, `resource`, `template`' }
  },
  connects: {
    name: 'towpath_upstream_connects_total',
    type: 'counter',
    about: 'Sessions, processes and event streams that were opened to servers, and pools of connections',
    labels: { ...server, transport: '`streamable_http`, `sse`, `stdio`' }
  },
  connectTime: {
    name: 'towpath_upstream_connect_seconds',
    type: 'histogram',
    about: 'Time that opening them took',
    labels: { transport: '`streamable_http`, `sse`, `stdio`' },
    bounds: callBounds
  },
  failures: {
    name: 'towpath_upstream_failures_total',
    type: 'counter',
    about: 'Connections and calls to servers that came to nothing',
    labels: {
      ...server,
      reason:
        '`unreachable`, `timeout`, `crashed`, `auth`, `overloaded`, `too_large`, `bad_response`, `denied`, `limited`, `unreadable`'
    }
  },
  breaker: {
    name: 'towpath_upstream_breaker_state',
    type: 'gauge',
    about: 'Whether a server is given a rest: 0 no, 1 it is being tried again, 2 yes. Of servers that were called',
    labels: { ...server }
  },
  sessions: {
    name: 'towpath_sessions',
    type: 'gauge',
    about: 'MCP sessions of clients that this process holds',
    labels: {}
  },
  streams: {
    name: 'towpath_streams',
    type: 'gauge',
    about: 'Event streams on which clients listen, those included that were cut and may be taken up again',
    labels: {}
  },
  spares: {
    name: 'towpath_spare_sessions',
    type: 'gauge',
    about: 'Sessions kept ready for the next call. Of servers that were called and give each call a session of its own',
    labels: { ...server, transport: '`streamable_http`, `sse`, `stdio`' }
  },
  sessionsTaken: {
    name: 'towpath_spare_session_requests_total',
    type: 'counter',
    about: 'Calls that needed a session of their own, where spare ones are kept',
    labels: { ...server, result: '`hit`: a spare one was ready; `miss`: the call waited for a new one' }
  },
  processes: {
    name: 'towpath_stdio_processes',
    type: 'gauge',
    about: 'Processes of stdio servers, those that are ending included',
    labels: {}
  },
  queue: {
    name: 'towpath_queue_length',
    type: 'gauge',
    about: 'What waits',
    labels: {
      queue:
        '`stdio_process`: calls for a process; `parked_call`: calls for input of their callers; ' +
        '`call_log`, `audit_log`: rows that are to be stored'
    }
  },
  lostRows: {
    name: 'towpath_log_rows_dropped_total',
    type: 'counter',
    about: 'Rows that were lost, since the database was away for too long or could not take them',
    labels: { log: '`call_log`; `audit_log`: what was refused, never a change' }
  },
  catalogVersion: {
    name: 'towpath_catalog_version',
    type: 'gauge',
    about: 'Version of the registry that is served; replicas that differ for long are not in step',
    labels: {}
  },
  catalogSwap: {
    name: 'towpath_catalog_swap_seconds',
    type: 'histogram',
    about: 'Time that taking over a new version of the registry took',
    labels: {},
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
  },
  eventLoop: {
    name: 'towpath_event_loop_delay_seconds',
    type: 'gauge',
    about: 'How late timers came since the last scrape',
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
    about: 'HTTP requests, until their answer was complete; a stream lasts as long as it is open',
    labels: {
      method: `\`GET\`, \`POST\` …, \`${OTHER}\``,
      route: `the route as it is written, \`/v0/groups/:name/mcp\` for example; \`${OTHER}\` for an unknown path`,
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
    about: 'Memory of the process',
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

With \`OTEL_ENABLED\` (on in enterprise mode, off in development mode) \`GET /metrics\` answers in the text format of
Prometheus, on the port of everything else. It asks for no token: it names servers, tools and routes, and holds no address,
argument, result, name of a user or client, nor any secret. Where those names are nobody's business outside, the reverse
proxy keeps it inside.

Each process counts for itself, from its start. Labels take values of closed sets only. Of one metric at most 50,000 series
are kept; what comes beyond them is counted together, with the label \`otel_metric_overflow\`.

This page is generated from \`src/plugins/otel/definitions.ts\`.

<!-- prettier-ignore -->
| Metric | Type | What it is | Labels |
|---|---|---|---|
${Object.values<Metric>(definitions).map(row).join('\n')}
`
