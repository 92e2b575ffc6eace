import { ENV_PREFIX } from './domain/product.ts'
import {
  text,
  oneOf,
  integer,
  onOff,
  databaseUrl,
  publicUrl,
  otlpEndpoint,
  origins,
  hosts,
  databaseHost,
  commands,
  egress,
  proxies,
  key,
  token,
  port,
  duration,
  bytes,
  count,
  id
} from './setting-values.ts'

export interface Setting<T = unknown> {
  readonly variable: string
  readonly flag?: string
  /** True if `<variable>_FILE` may name a file that contains the value. */
  readonly file?: boolean
  /** True if the value must not appear in any message. */
  readonly secret?: boolean
  /** Default value, as text. */
  readonly fallback?: string
  /** Default as described in the reference, if it is not a fixed text. */
  readonly otherwise?: string
  readonly about: string
  readonly parse: (text: string) => T
}

/** All settings: read by `config.ts`, listed in docs/reference/configuration.md. */
export const settings = {
  mode: {
    variable: 'SERVER_MODE',
    flag: '--enterprise',
    fallback: 'development',
    about:
      '`development` or `enterprise`, in any letter case. Development mode asks nobody who they are; enterprise mode asks everybody for a token.',
    parse: oneOf('development', 'enterprise')
  },
  host: {
    variable: 'HOST',
    flag: '--host',
    otherwise: '`127.0.0.1`; in enterprise mode `0.0.0.0`',
    about:
      'Address to listen on. Development mode lets everybody who reaches the port run commands: an address that is not loopback prints a warning.',
    parse: text
  },
  port: {
    variable: 'PORT',
    flag: '--port',
    fallback: '8080',
    about: 'Port to listen on; 0 takes a free one.',
    parse: port
  },
  databaseUrl: {
    variable: 'DATABASE_URL',
    flag: '--database-url',
    file: true,
    secret: true,
    otherwise: 'the embedded store',
    about: 'PostgreSQL to store everything in, `postgres://…`.',
    parse: databaseUrl
  },
  directDatabaseUrl: {
    variable: `${ENV_PREFIX}DIRECT_DATABASE_URL`,
    file: true,
    secret: true,
    otherwise: '`DATABASE_URL`',
    about: 'Direct connection for LISTEN and migrations where `DATABASE_URL` goes through a transaction-mode pooler.',
    parse: databaseUrl
  },
  postgresHost: {
    variable: 'POSTGRES_HOST',
    file: true,
    about: 'Builds a database URL, with the next four, when `DATABASE_URL` is absent.',
    parse: databaseHost
  },
  postgresPort: { variable: 'POSTGRES_PORT', file: true, fallback: '5432', about: 'See `POSTGRES_HOST`.', parse: port },
  postgresUser: {
    variable: 'POSTGRES_USER',
    file: true,
    fallback: 'postgres',
    about: 'See `POSTGRES_HOST`.',
    parse: text
  },
  postgresPassword: {
    variable: 'POSTGRES_PASSWORD',
    file: true,
    secret: true,
    otherwise: 'none',
    about: 'See `POSTGRES_HOST`.',
    parse: text
  },
  postgresDb: { variable: 'POSTGRES_DB', file: true, fallback: 'postgres', about: 'See `POSTGRES_HOST`.', parse: text },
  dataDir: {
    variable: `${ENV_PREFIX}DATA_DIR`,
    flag: '--data-dir',
    fallback: './.towpath',
    about: 'Folder of the embedded store and of the encryption key file.',
    parse: text
  },
  encryptionKey: {
    variable: `${ENV_PREFIX}ENCRYPTION_KEY`,
    file: true,
    secret: true,
    otherwise: 'a key file in the data folder, created when missing; with PostgreSQL in enterprise mode it is required',
    about: 'Seals upstream secrets at rest: 32 bytes as base64 or as 64 hexadecimal digits.',
    parse: key
  },
  adminToken: {
    variable: `${ENV_PREFIX}ADMIN_TOKEN`,
    file: true,
    secret: true,
    about:
      'Enterprise mode: initialises an empty database at the start, with this as the access token of the first administrator. A database that is initialised already stays as it is.',
    parse: token
  },
  initSecret: {
    variable: `${ENV_PREFIX}INIT_SECRET`,
    file: true,
    secret: true,
    about: 'Enterprise mode: `POST /init` needs it as `Authorization: Bearer <secret>`.',
    parse: token
  },
  staleLimitS: {
    variable: `${ENV_PREFIX}STALE_LIMIT`,
    otherwise: '`0`; in enterprise mode `3600`',
    about: 'Seconds for which a gateway that cannot reach its database goes on serving what it knows; 0 = for ever.',
    parse: integer(0, 31_536_000)
  },
  previousKey: {
    variable: `${ENV_PREFIX}ENCRYPTION_KEY_PREVIOUS`,
    file: true,
    secret: true,
    about: 'The key that was in use before, while keys are changed.',
    parse: key
  },
  demo: {
    variable: `${ENV_PREFIX}DEMO`,
    flag: '--demo',
    fallback: 'off',
    about: 'Registers the bundled demo server.',
    parse: onOff
  },
  otel: {
    variable: 'OTEL_ENABLED',
    flag: '--otel',
    otherwise: '`off`; in enterprise mode `on`',
    about: 'Serves `GET /metrics`.',
    parse: onOff
  },
  metricsToken: {
    variable: `${ENV_PREFIX}METRICS_TOKEN`,
    file: true,
    secret: true,
    about:
      '`GET /metrics` needs it as `Authorization: Bearer <token>`. Without it whoever reaches the port reads the names of all servers and tools there.',
    parse: token
  },
  otlpEndpoint: {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    about:
      'Where traces are sent, `http://collector:4318` for example: a span of each call with one of its server, in the trace of the caller. Other variables of the OpenTelemetry SDK for traces apply too: `OTEL_EXPORTER_OTLP_PROTOCOL`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER`, `OTEL_SERVICE_NAME` and others. `OTEL_ENABLED=off` turns traces off.',
    parse: otlpEndpoint
  },
  docs: {
    variable: `${ENV_PREFIX}DOCS`,
    fallback: 'on',
    about:
      'Who may read the description of the API, `/openapi.json` and `/docs`: `on` everybody, `admin` those with the access token of an administrator (in development mode everybody), `off` nobody.',
    parse: oneOf('on', 'admin', 'off')
  },
  traceContext: {
    variable: `${ENV_PREFIX}TRACE_CONTEXT`,
    fallback: 'own',
    about:
      "Trace context that servers are sent with a call, in headers and `_meta`. `off`: none. `own`: `traceparent` of the gateway's own span, while it exports traces. `all`: besides, `traceparent`, `tracestate` and `baggage` of the caller, which may tell servers of others about your systems.",
    parse: oneOf('off', 'own', 'all')
  },
  logLevel: {
    variable: `${ENV_PREFIX}LOG_LEVEL`,
    flag: '--log-level',
    fallback: 'info',
    about: 'Logs are JSON lines on standard error.',
    parse: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')
  },
  publicUrl: {
    variable: `${ENV_PREFIX}PUBLIC_URL`,
    otherwise: 'from the request',
    about: 'URL under which callers reach the gateway. Its host and origin are always accepted.',
    parse: publicUrl
  },
  allowedHosts: {
    variable: `${ENV_PREFIX}ALLOWED_HOSTS`,
    otherwise: 'none; in enterprise mode any',
    about:
      'Host names that requests may name besides loopback names (and, when listening beyond loopback, IP addresses), separated by commas. Keeps out DNS rebinding.',
    parse: hosts
  },
  allowedOrigins: {
    variable: `${ENV_PREFIX}ALLOWED_ORIGINS`,
    otherwise: 'none',
    about:
      'Origins whose web pages may use the gateway and read its answers (CORS), separated by commas. Pages of the host that a request names need not be listed. In development mode pages of other loopback origins may send requests that only read, but get no CORS headers.',
    parse: origins
  },
  trustedProxies: {
    variable: `${ENV_PREFIX}TRUSTED_PROXIES`,
    otherwise: 'none',
    about:
      'Reverse proxies in front of the gateway: addresses, networks such as `10.0.0.0/8`, `private` or `loopback`, separated by commas. On a request of one of them the client is the rightmost address of `X-Forwarded-For` that is not listed here: it stands in logs and the audit log, and limits per address count it. The header of everybody else is ignored. Other `X-Forwarded-…` headers and `Forwarded` are never read.',
    parse: proxies
  },
  stdio: {
    variable: `${ENV_PREFIX}STDIO`,
    fallback: 'on',
    about: '`off` refuses `stdio` servers.',
    parse: onOff
  },
  stdioCommands: {
    variable: `${ENV_PREFIX}STDIO_COMMANDS`,
    otherwise: 'any',
    about:
      'Executables that `stdio` servers may start: absolute paths, separated by commas. With it, variables that load code, such as `LD_PRELOAD`, `NODE_OPTIONS` or `PATH`, are refused in `env`.',
    parse: commands
  },
  stdioUid: {
    variable: `${ENV_PREFIX}STDIO_UID`,
    otherwise: 'as the gateway',
    about: 'User id of `stdio` servers.',
    parse: id
  },
  stdioGid: {
    variable: `${ENV_PREFIX}STDIO_GID`,
    otherwise: 'as the gateway',
    about: 'Group id of `stdio` servers.',
    parse: id
  },
  stdioCwd: {
    variable: `${ENV_PREFIX}STDIO_CWD`,
    otherwise: "the gateway's working directory; in enterprise mode an empty folder for each process",
    about: 'Working directory of `stdio` servers.',
    parse: text
  },
  stdioProcesses: {
    variable: `${ENV_PREFIX}STDIO_PROCESSES`,
    fallback: '32',
    about: 'Processes of `stdio` servers at one time.',
    parse: integer(1, 10_000)
  },
  stdioQueue: {
    variable: `${ENV_PREFIX}STDIO_QUEUED_CALLS`,
    fallback: '128',
    about: 'Calls that wait for a process; further ones get 503.',
    parse: integer(0, 100_000)
  },
  stdioProcessesPerPrincipal: {
    variable: `${ENV_PREFIX}STDIO_PROCESSES_PER_PRINCIPAL`,
    otherwise: 'half of `TOWPATH_STDIO_PROCESSES`',
    about:
      'Processes of `stdio` servers that one user or client may have in enterprise mode. Past it its own idle session gives way, else the call waits; then 429.',
    parse: count
  },
  egressDeny: {
    variable: `${ENV_PREFIX}EGRESS_DENY`,
    otherwise: 'none',
    about:
      'What upstreams may not be reached at: networks such as `10.0.0.0/8`, host names, `private` or `loopback`, separated by commas. Link-local addresses, cloud metadata services, unspecified, multicast and broadcast addresses, and the gateway itself are denied anyway.',
    parse: egress
  },
  egressAllow: {
    variable: `${ENV_PREFIX}EGRESS_ALLOW`,
    otherwise: 'none',
    about:
      'Exceptions to what is denied, in the same form. A host name that is listed may resolve to any address; a network may be reached under any name that is not denied itself.',
    parse: egress
  },
  resultSecrets: {
    variable: `${ENV_PREFIX}RESULT_SECRETS`,
    fallback: 'redact',
    about:
      "What becomes of an answer or notification that holds a secret of the server it comes from (token, headers, variables, secret parameters and arguments): `redact` puts `***` in its place, `block` fails the call, `off` passes it on. Only that server's own secrets of 8 characters or more are searched. That takes about 1 µs of CPU for 10 kB and 0.1 ms for 1 MB, with five secrets as with one, and nothing for a server without secrets.",
    parse: oneOf('redact', 'block', 'off')
  },
  toolNames: {
    variable: `${ENV_PREFIX}TOOL_NAMES`,
    fallback: 'leave-out',
    about:
      'What becomes of tools and prompts whose names clients cannot use. `leave-out`: they are not served; tools may have letters, digits and `_`, `-`, `.`, `/` in their names, and the name with that of the server in front at most 128 characters. `rename`: they are served under a name of letters, digits, `_` and `-`, of 64 characters where the name of the server allows it, that always is the same for the same tool. `keep`: they are served as they are.',
    parse: oneOf('leave-out', 'rename', 'keep')
  },
  spareSessions: {
    variable: `${ENV_PREFIX}SPARE_SESSIONS`,
    fallback: '1',
    about:
      'Sessions, or processes of `stdio` servers, that are kept ready for each server which is called again and again in `stateless` mode; 0 = none.',
    parse: integer(0, 100)
  },
  refreshIntervalMs: {
    variable: `${ENV_PREFIX}REFRESH_INTERVAL_MS`,
    fallback: '300000',
    about: "Interval of re-reading the upstreams' lists, which also happens after a start; 0 = off, then too.",
    parse: integer(0, 86_400_000)
  },
  auditRetentionDays: {
    variable: `${ENV_PREFIX}AUDIT_RETENTION_DAYS`,
    fallback: '90',
    about: 'Days for which the audit log is kept.',
    parse: integer(1, 36_500)
  },
  callLog: {
    variable: `${ENV_PREFIX}CALL_LOG`,
    fallback: 'on',
    about: 'Keeps who called what, how it went and how long it took, for `GET /api/v0/calls` and the charts.',
    parse: onOff
  },
  callLogContents: {
    variable: `${ENV_PREFIX}CALL_LOG_CONTENTS`,
    fallback: 'off',
    about:
      'Keeps arguments and results of calls too: the first 4,096 characters, without what looks like a secret, and nothing of what is larger than 64 KiB.',
    parse: onOff
  },
  callLogDays: {
    variable: `${ENV_PREFIX}CALL_LOG_RETENTION_DAYS`,
    fallback: '7',
    about: 'Days for which calls are kept.',
    parse: integer(1, 36_500)
  },
  callLogRows: {
    variable: `${ENV_PREFIX}CALL_LOG_MAX_ROWS`,
    otherwise: '`1000000`; with the embedded store `100000`',
    about: 'Calls that are kept; past it the oldest go.',
    parse: integer(1, 1_000_000_000)
  },
  connectMs: {
    variable: `${ENV_PREFIX}CONNECT_TIMEOUT_MS`,
    fallback: '30000',
    about: 'Connecting to an upstream and initialising it.',
    parse: duration
  },
  callMs: {
    variable: `${ENV_PREFIX}CALL_TIMEOUT_MS`,
    fallback: '60000',
    about: 'A call without progress.',
    parse: duration
  },
  callTotalMs: {
    variable: `${ENV_PREFIX}CALL_TOTAL_TIMEOUT_MS`,
    fallback: '300000',
    about: 'A call in all.',
    parse: duration
  },
  requestBodyMs: {
    variable: `${ENV_PREFIX}REQUEST_BODY_TIMEOUT_MS`,
    fallback: '30000',
    about: 'Receiving a request; past it 408.',
    parse: duration
  },
  databaseConnectMs: {
    variable: `${ENV_PREFIX}DATABASE_CONNECT_TIMEOUT_MS`,
    fallback: '2000',
    about: 'Waiting for a database connection; past it 503.',
    parse: duration
  },
  databaseQueryMs: {
    variable: `${ENV_PREFIX}DATABASE_QUERY_TIMEOUT_MS`,
    fallback: '5000',
    about: 'One database query; past it 503.',
    parse: duration
  },
  drainMs: {
    variable: `${ENV_PREFIX}DRAIN_TIMEOUT_MS`,
    fallback: '25000',
    about: 'Time for requests under way to finish when the gateway stops.',
    parse: integer(0, 86_400_000)
  },
  sessionIdleMs: {
    variable: `${ENV_PREFIX}SESSION_IDLE_MS`,
    fallback: '1800000',
    about: 'Idle time after which a session ends.',
    parse: duration
  },
  oauthSessionMs: {
    variable: `${ENV_PREFIX}OAUTH_SESSION_MS`,
    fallback: '600000',
    about: 'Time to sign in at the authorization server of an upstream.',
    parse: duration
  },
  oauthRetentionMs: {
    variable: `${ENV_PREFIX}OAUTH_RETENTION_MS`,
    fallback: '3600000',
    about: 'Time for which a sign-in that has expired can still be asked for.',
    parse: duration
  },
  restBodyBytes: {
    variable: `${ENV_PREFIX}REST_BODY_BYTES`,
    fallback: '1048576',
    about: 'Request body on REST; past it 413.',
    parse: bytes
  },
  mcpBodyBytes: {
    variable: `${ENV_PREFIX}MCP_BODY_BYTES`,
    fallback: '4194304',
    about: 'Request body on MCP endpoints; past it 413.',
    parse: bytes
  },
  jsonDepth: {
    variable: `${ENV_PREFIX}JSON_DEPTH_LEVELS`,
    fallback: '64',
    about: 'Nesting of JSON in a request, 64 at most; past it 400.',
    parse: integer(2, 64)
  },
  jsonElements: {
    variable: `${ENV_PREFIX}JSON_ELEMENTS`,
    fallback: '100000',
    about: 'Members and elements of JSON in a request; past it 400.',
    parse: integer(100, 10_000_000)
  },
  batch: {
    variable: `${ENV_PREFIX}BATCH_MESSAGES`,
    fallback: '100',
    about: 'Messages of a JSON-RPC batch; past it 400.',
    parse: count
  },
  batchBytes: {
    variable: `${ENV_PREFIX}BATCH_BYTES`,
    fallback: '4194304',
    about: 'Answers of a JSON-RPC batch together, 256 MiB at most; past it an answer is an error.',
    // V8 limits the length of a string
    parse: integer(1_024, 268_435_456)
  },
  identifierBytes: {
    variable: `${ENV_PREFIX}IDENTIFIER_BYTES`,
    fallback: '8192',
    about:
      'A URI, name, cursor, token or id in a request on MCP endpoints; past it invalid params. Eight times as much for ' +
      '`requestState` and `clientInfo`.',
    parse: integer(256, 1_048_576)
  },
  headerBytes: {
    variable: `${ENV_PREFIX}HEADER_BYTES`,
    fallback: '16384',
    about: 'Headers of a request with its first line; past it 431.',
    parse: integer(1_024, 1_048_576)
  },
  upstreamResponseBytes: {
    variable: `${ENV_PREFIX}UPSTREAM_RESPONSE_BYTES`,
    fallback: '16777216',
    about: 'One answer of an upstream; past it 502.',
    parse: bytes
  },
  streamBufferBytes: {
    variable: `${ENV_PREFIX}STREAM_BUFFER_BYTES`,
    fallback: '4194304',
    about: 'Unsent bytes of a stream; past it the stream ends.',
    parse: bytes
  },
  sessions: {
    variable: `${ENV_PREFIX}SESSIONS`,
    fallback: '10000',
    about:
      'Sessions of MCP clients, and streams that only listen. Past it the session that was idle for longest gives way; ' +
      'where each has an open stream, and for streams, 503.',
    parse: count
  },
  sessionsPerPrincipal: {
    variable: `${ENV_PREFIX}SESSIONS_PER_PRINCIPAL`,
    fallback: '1000',
    about:
      'The same of one client in enterprise mode: its own gives way; where each has an open stream, 429. It may have as many ' +
      'streams open that only listen.',
    parse: count
  },
  subscriptionsPerPrincipal: {
    variable: `${ENV_PREFIX}SUBSCRIPTIONS_PER_PRINCIPAL`,
    fallback: '10000',
    about: 'Resources that one client may have subscribed to in enterprise mode; past it 429.',
    parse: count
  },
  subscriptionBytes: {
    variable: `${ENV_PREFIX}SUBSCRIPTION_BYTES`,
    fallback: '33554432',
    about:
      'What is kept of resources that clients have subscribed to, of all clients; past it 429. One client may take a ' +
      'quarter of it in enterprise mode.',
    parse: bytes
  },
  callBytes: {
    variable: `${ENV_PREFIX}CALL_BYTES`,
    fallback: '134217728',
    about:
      'Requests of calls under way or waiting, of all callers; past it 429. One user or client may take a quarter of it in ' +
      'enterprise mode.',
    parse: bytes
  },
  pendingBytes: {
    variable: `${ENV_PREFIX}PENDING_BYTES`,
    fallback: '268435456',
    about:
      'Unfinished answers and unanswered questions of upstreams, of all servers; past it 502. One server may take a quarter ' +
      'of it.',
    parse: bytes
  },
  upstreamSessions: {
    variable: `${ENV_PREFIX}UPSTREAM_SESSIONS`,
    fallback: '5000',
    about:
      'Sessions with servers in `stateful` mode over HTTP. Past it an idle one of whoever has more than an equal part gives way, to a caller who has none also another; where there is none, 503.',
    parse: count
  },
  upstreamSessionsPerPrincipal: {
    variable: `${ENV_PREFIX}UPSTREAM_SESSIONS_PER_PRINCIPAL`,
    fallback: '500',
    about:
      'The same of one user or client in enterprise mode: its own idle session gives way; where all are in use, 429.',
    parse: count
  },
  callsPerPrincipal: {
    variable: `${ENV_PREFIX}CALLS_PER_PRINCIPAL`,
    fallback: '64',
    about: 'Calls that one user or client may have under way in enterprise mode; past it 429.',
    parse: count
  },
  connections: {
    variable: `${ENV_PREFIX}CONNECTIONS`,
    fallback: '20000',
    about:
      'Connections of callers, and not more than four fifths of the files that the process may open. Past it the oldest ' +
      'one without a request under way is closed; where there is none, the new one.',
    parse: count
  },
  connectionsPerAddress: {
    variable: `${ENV_PREFIX}CONNECTIONS_PER_ADDRESS`,
    fallback: '15000',
    about:
      'The same from one address, or from one /64 network of IPv6. `TOWPATH_TRUSTED_PROXIES` are not counted: behind a ' +
      'proxy that is not listed there all callers share this number.',
    parse: count
  },
  pipelinedRequests: {
    variable: `${ENV_PREFIX}PIPELINED_REQUESTS`,
    fallback: '16',
    about:
      'Requests that wait on one connection for the answer to the one before; behind the last of them the connection is ' +
      'closed.',
    parse: count
  },
  unsentBytes: {
    variable: `${ENV_PREFIX}UNSENT_BYTES`,
    fallback: '134217728',
    about:
      'Bytes of all connections together that wait for callers to read them; past it the connections that were not read ' +
      'from for longest are closed. One client may take a quarter of it on MCP endpoints in enterprise mode.',
    parse: bytes
  },
  unreadAnswerMs: {
    variable: `${ENV_PREFIX}UNREAD_ANSWER_TIMEOUT_MS`,
    fallback: '60000',
    about: 'Time for which a caller may read nothing of an answer or stream; past it the connection is closed.',
    parse: duration
  },
  failedAuthentications: {
    variable: `${ENV_PREFIX}FAILED_AUTHENTICATIONS`,
    fallback: '600',
    about:
      'Requests with a wrong access token a minute of one address in enterprise mode; further ones get 429 instead of 401. Requests with a valid token are never counted or refused, whatever comes from the same address.',
    parse: count
  },
  heapPercent: {
    variable: `${ENV_PREFIX}HEAP_PERCENT`,
    fallback: '90',
    about:
      'Memory in use, of what Node.js may take for its heap; past it new work gets 503; `/health` and administrators are answered.',
    parse: integer(1, 100)
  },
  memoryLimitBytes: {
    variable: `${ENV_PREFIX}MEMORY_LIMIT_BYTES`,
    otherwise: 'the limit of the container, or the memory of the machine',
    about: 'Memory that the process may take, its buffers included; what its `stdio` servers take does not count.',
    parse: integer(1_048_576, 1_099_511_627_776)
  },
  memoryPercent: {
    variable: `${ENV_PREFIX}MEMORY_PERCENT`,
    fallback: '85',
    about:
      'Resident memory, of `TOWPATH_MEMORY_LIMIT_BYTES`; past it new work gets 503 as with `TOWPATH_HEAP_PERCENT`, unless ' +
      'most of it is only kept by the allocator.',
    parse: integer(1, 100)
  },
  eventLoopLagMs: {
    variable: `${ENV_PREFIX}EVENT_LOOP_LAG_MS`,
    fallback: '2000',
    about:
      'Lag of the event loop; past it for five seconds new work gets 503; `/health` and administrators are answered.',
    parse: duration
  }
} satisfies Record<string, Setting>
