import { ENV_PREFIX } from '../domain/product.ts'
import {
  text,
  oneOf,
  integer,
  onOff,
  databaseUrl,
  clientDocumentUrl,
  publicUrl,
  audiences,
  issuer,
  issuers,
  scopes,
  names,
  schemes,
  otlpEndpoint,
  origins,
  hosts,
  databaseHost,
  commands,
  egress,
  proxies,
  patterns,
  key,
  token,
  bearer,
  modelName,
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
      '`development` or `enterprise`, in any letter case. Development mode has no authentication; enterprise mode requires tokens.',
    parse: oneOf('development', 'enterprise')
  },
  host: {
    variable: 'HOST',
    flag: '--host',
    otherwise: '`127.0.0.1`; in enterprise mode `0.0.0.0`',
    about:
      'Address to listen on. In development mode anyone who reaches the port can run commands, so an address other than loopback prints a warning.',
    parse: text
  },
  port: {
    variable: 'PORT',
    flag: '--port',
    fallback: '8080',
    about: 'Port to listen on; 0 picks a free one.',
    parse: port
  },
  workers: {
    variable: `${ENV_PREFIX}WORKERS`,
    fallback: '1',
    about:
      'Processes that serve the port, 1 to 64, with PostgreSQL: [workers](../explanation/workers.md). About one for each core that the machine can spare.',
    parse: integer(1, 64)
  },
  databaseUrl: {
    variable: 'DATABASE_URL',
    flag: '--database-url',
    file: true,
    secret: true,
    otherwise: 'the embedded store',
    about: 'PostgreSQL database that stores everything, `postgres://…`.',
    parse: databaseUrl
  },
  directDatabaseUrl: {
    variable: `${ENV_PREFIX}DIRECT_DATABASE_URL`,
    file: true,
    secret: true,
    otherwise: '`DATABASE_URL`',
    about: 'Direct connection for LISTEN and migrations, if `DATABASE_URL` goes through a transaction-mode pooler.',
    parse: databaseUrl
  },
  postgresHost: {
    variable: 'POSTGRES_HOST',
    file: true,
    about: 'Without `DATABASE_URL`, this and the next four settings form the database URL.',
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
    otherwise:
      '`./.towpath` in a clone, or where that folder exists; for an installed package `$XDG_DATA_HOME/towpath` (`~/.local/share/towpath`), on macOS `~/Library/Application Support/Towpath`, on Windows `%LOCALAPPDATA%\\Towpath`',
    about: 'Folder of the embedded store and of the encryption key file.',
    parse: text
  },
  encryptionKey: {
    variable: `${ENV_PREFIX}ENCRYPTION_KEY`,
    file: true,
    secret: true,
    otherwise: 'a key file in the data folder, created when missing; with PostgreSQL in enterprise mode it is required',
    about: 'Encrypts stored upstream secrets: 32 bytes as base64 or as 64 hexadecimal digits.',
    parse: key
  },
  adminToken: {
    variable: `${ENV_PREFIX}ADMIN_TOKEN`,
    file: true,
    secret: true,
    about:
      'Enterprise mode: initialises an empty database at start, with this as the access token of the first administrator. A database that is already initialised is not changed.',
    parse: token
  },
  initSecret: {
    variable: `${ENV_PREFIX}INIT_SECRET`,
    file: true,
    secret: true,
    about: 'Enterprise mode: required by `POST /init` as `Authorization: Bearer <secret>`.',
    parse: token
  },
  auth: {
    variable: `${ENV_PREFIX}AUTH`,
    fallback: 'tokens',
    about:
      'Enterprise mode: `tokens` (access tokens from an administrator), `embedded`: also [sign-in](../how-to/single-sign-on.md), for which the gateway is the authorization server of its MCP endpoints, or `external`: MCP endpoints also take [access tokens of the identity provider](../how-to/single-sign-on.md#tokens-of-the-provider-itself-external-mode). The latter two need `TOWPATH_PUBLIC_URL`, with `https` unless the host is loopback.',
    parse: oneOf('tokens', 'embedded', 'external')
  },
  oidcIssuer: {
    variable: `${ENV_PREFIX}OIDC_ISSUER`,
    about: 'Issuer of the OpenID provider at which people sign in, exactly as in its tokens.',
    parse: issuer
  },
  oidcClientId: {
    variable: `${ENV_PREFIX}OIDC_CLIENT_ID`,
    about: 'Client id of the gateway at the provider. Its redirect URI is `<public URL>/auth/callback`.',
    parse: text
  },
  oidcClientSecret: {
    variable: `${ENV_PREFIX}OIDC_CLIENT_SECRET`,
    file: true,
    secret: true,
    about: 'Client secret of the gateway at the provider; without it, the gateway is a public client.',
    parse: text
  },
  oidcClientAuth: {
    variable: `${ENV_PREFIX}OIDC_CLIENT_AUTH`,
    otherwise: '`client_secret_basic`, unless the provider announces only the other',
    about:
      'How the client secret is sent to the provider: `client_secret_basic` (header) or `client_secret_post` (body). Set the latter if the provider refuses a right secret with `invalid_client`.',
    parse: oneOf('client_secret_basic', 'client_secret_post')
  },
  oidcScopes: {
    variable: `${ENV_PREFIX}OIDC_SCOPES`,
    fallback: 'openid profile email',
    about: 'Scopes that the provider is asked for.',
    parse: text
  },
  oidcGroupsClaim: {
    variable: `${ENV_PREFIX}OIDC_GROUPS_CLAIM`,
    fallback: 'groups',
    about: 'Claim with the groups of a person, as a path such as `realm_access.roles`.',
    parse: text
  },
  oidcNameClaim: {
    variable: `${ENV_PREFIX}OIDC_NAME_CLAIM`,
    fallback: 'preferred_username',
    about: 'Claim with the name of a new user; if it is missing, `email`, then `sub`.',
    parse: text
  },
  oidcAdminGroups: {
    variable: `${ENV_PREFIX}OIDC_ADMIN_GROUPS`,
    about: 'Groups whose people are administrators, separated by commas.',
    parse: names
  },
  oidcAuditorGroups: {
    variable: `${ENV_PREFIX}OIDC_AUDITOR_GROUPS`,
    about: 'Groups whose people are auditors, separated by commas.',
    parse: names
  },
  oidcRequiredGroups: {
    variable: `${ENV_PREFIX}OIDC_REQUIRED_GROUPS`,
    otherwise: 'everybody at the provider',
    about: 'Groups of which a person must belong to at least one to sign in, separated by commas.',
    parse: names
  },
  oidcAllowedDomains: {
    variable: `${ENV_PREFIX}OIDC_ALLOWED_DOMAINS`,
    otherwise: 'any',
    about: 'Domains of verified e-mail addresses that may sign in, separated by commas.',
    parse: names
  },
  oidcClaimsMaxAgeMs: {
    variable: `${ENV_PREFIX}OIDC_CLAIMS_MAX_AGE_MS`,
    fallback: '43200000',
    about:
      'Time after which the groups of a person are too old: clients cannot renew their tokens until the person signs in again.',
    parse: duration
  },
  oidcProvision: {
    variable: `${ENV_PREFIX}OIDC_PROVISION`,
    fallback: 'jit',
    about:
      '`jit`: whoever may sign in becomes a user at the first sign-in. `scim`: only users that a [SCIM client](../how-to/single-sign-on.md#users-from-the-provider-scim) has created.',
    parse: oneOf('jit', 'scim')
  },
  scimToken: {
    variable: `${ENV_PREFIX}SCIM_TOKEN`,
    file: true,
    secret: true,
    about:
      'Token with which the provider creates, changes and suspends users and groups at `/scim/v2` (SCIM 2.0). Without it these routes do not exist.',
    parse: token
  },
  localSignIn: {
    variable: `${ENV_PREFIX}LOCAL_SIGN_IN`,
    fallback: 'off',
    about:
      'With `TOWPATH_AUTH=embedded`: lets [people whom an administrator has invited](../how-to/single-sign-on.md#local-accounts) sign in with a password, with or without an OpenID provider.',
    parse: onOff
  },
  breakGlass: {
    variable: `${ENV_PREFIX}BREAK_GLASS`,
    fallback: 'on',
    about:
      'With sign-in: lets users sign in with the static access token that an administrator issued, for an hour and also while the provider is down.',
    parse: onOff
  },
  oauthDcr: {
    variable: `${ENV_PREFIX}OAUTH_DCR`,
    fallback: 'on',
    about:
      'Dynamic registration of OAuth clients (RFC 7591). `approve`: people can let a client in once an administrator has approved it.',
    parse: oneOf('on', 'off', 'approve')
  },
  accessTokenMs: {
    variable: `${ENV_PREFIX}ACCESS_TOKEN_MS`,
    fallback: '600000',
    about: 'Life of the access tokens of OAuth clients: a minute to an hour.',
    parse: integer(60_000, 3_600_000)
  },
  refreshTokenMs: {
    variable: `${ENV_PREFIX}REFRESH_TOKEN_MS`,
    fallback: '2592000000',
    about: 'Time without use after which an OAuth client has to be let in again: an hour to 90 days.',
    parse: integer(3_600_000, 7_776_000_000)
  },
  browserSessionIdleMs: {
    variable: `${ENV_PREFIX}BROWSER_SESSION_IDLE_MS`,
    fallback: '43200000',
    about: 'Time without use after which a browser session ends: ten minutes to seven days.',
    parse: integer(600_000, 604_800_000)
  },
  browserSessionMs: {
    variable: `${ENV_PREFIX}BROWSER_SESSION_MS`,
    fallback: '604800000',
    about: 'Time after which a browser session ends in any case: ten minutes to seven days.',
    parse: integer(600_000, 604_800_000)
  },
  oauthCimd: {
    variable: `${ENV_PREFIX}OAUTH_CIMD`,
    fallback: 'on',
    about: 'OAuth clients whose id is the URL of a document that describes them (client ID metadata documents).',
    parse: onOff
  },
  oauthCimdHosts: {
    variable: `${ENV_PREFIX}OAUTH_CIMD_HOSTS`,
    otherwise: 'any',
    about: 'Hosts of such documents, separated by commas.',
    parse: hosts
  },
  oauthRedirectSchemes: {
    variable: `${ENV_PREFIX}OAUTH_REDIRECT_SCHEMES`,
    fallback: 'cursor,vscode,vscode-insiders,windsurf,claude,jetbrains',
    about: 'Private URI schemes that redirect URIs of OAuth clients may have besides `https` and `http` on loopback.',
    parse: schemes
  },
  externalAudience: {
    variable: `${ENV_PREFIX}EXTERNAL_AUDIENCE`,
    otherwise: 'the addresses of the endpoints only',
    about:
      'With `TOWPATH_AUTH=external`: values of `aud` that access tokens may have instead of the address of the endpoint, such as `api://towpath`, separated by commas. Tokens of the type `JWT`, and not only `at+jwt`, are then taken too.',
    parse: audiences
  },
  externalScopes: {
    variable: `${ENV_PREFIX}EXTERNAL_SCOPES`,
    about:
      'With `TOWPATH_AUTH=external`: scopes for which MCP clients are told to ask the provider, separated by spaces, so that it issues tokens with the right audience.',
    parse: scopes
  },
  idJagIssuers: {
    variable: `${ENV_PREFIX}ID_JAG_ISSUERS`,
    about:
      'Issuers of identity providers whose assertions (ID-JAG) authenticated clients exchange for access tokens of people, separated by commas: [enterprise-managed authorization](../how-to/single-sign-on.md#access-that-the-provider-grants-enterprise-managed-authorization). Needs `TOWPATH_AUTH=embedded` and `TOWPATH_OIDC_ISSUER`, whose rules apply.',
    parse: issuers
  },
  staleLimitS: {
    variable: `${ENV_PREFIX}STALE_LIMIT`,
    otherwise: '`0`; in enterprise mode `3600`',
    about:
      'Seconds for which a gateway that cannot reach its database keeps serving its last known state; 0 = no limit.',
    parse: integer(0, 31_536_000)
  },
  previousKey: {
    variable: `${ENV_PREFIX}ENCRYPTION_KEY_PREVIOUS`,
    file: true,
    secret: true,
    about: 'The previous encryption key, during a key rotation.',
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
      'Required by `GET /metrics` as `Authorization: Bearer <token>`. Without it, anyone who reaches the port can read the names of all servers and tools.',
    parse: token
  },
  otlpEndpoint: {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    about:
      'Endpoint for traces, for example `http://collector:4318`: a span for each call with a child span for its server, in the trace of the caller. Other trace variables of the OpenTelemetry SDK apply too, such as `OTEL_EXPORTER_OTLP_PROTOCOL`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER` and `OTEL_SERVICE_NAME`. `OTEL_ENABLED=off` turns traces off.',
    parse: otlpEndpoint
  },
  docs: {
    variable: `${ENV_PREFIX}DOCS`,
    fallback: 'on',
    about:
      'Access to the API description, `/openapi.json` and `/docs`: `on` everyone, `admin` administrators only (in development mode everyone), `off` nobody.',
    parse: oneOf('on', 'admin', 'off')
  },
  traceContext: {
    variable: `${ENV_PREFIX}TRACE_CONTEXT`,
    fallback: 'own',
    about:
      "Trace context sent to servers with a call, in headers and `_meta`. `off`: none. `own`: `traceparent` of the gateway's own span, while it exports traces. `all`: also `traceparent`, `tracestate` and `baggage` of the caller, which may reveal details of your systems to third-party servers.",
    parse: oneOf('off', 'own', 'all')
  },
  logLevel: {
    variable: `${ENV_PREFIX}LOG_LEVEL`,
    flag: '--log-level',
    fallback: 'info',
    about: 'Lowest level that is logged, on standard error.',
    parse: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')
  },
  logFormat: {
    variable: `${ENV_PREFIX}LOG_FORMAT`,
    otherwise: '`text` on a terminal and in development mode, otherwise `json`',
    about: 'Format of the log and of the lines printed at the start: `text` for people, `json` for log collectors.',
    parse: oneOf('text', 'json')
  },
  openBrowser: {
    variable: `${ENV_PREFIX}OPEN_BROWSER`,
    flag: '--no-open',
    fallback: 'on',
    about:
      'Opens the dashboard in a browser when `towpath start` runs on a terminal of a desktop, in development mode. `off`: never.',
    parse: onOff
  },
  publicUrl: {
    variable: `${ENV_PREFIX}PUBLIC_URL`,
    otherwise: 'from the request',
    about: 'URL at which clients reach the gateway. Its host and origin are always accepted.',
    parse: publicUrl
  },
  upstreamClientId: {
    variable: `${ENV_PREFIX}UPSTREAM_CLIENT_ID`,
    otherwise: 'the gateway registers at each',
    about:
      'Client id of the gateway at the authorization servers of upstreams that read [client metadata documents](../how-to/upstream-oauth.md#client-metadata-document): the `https` URL of a copy of `/.well-known/oauth-client` that they can reach.',
    parse: clientDocumentUrl
  },
  allowedHosts: {
    variable: `${ENV_PREFIX}ALLOWED_HOSTS`,
    otherwise: 'none; in enterprise mode any',
    about:
      'Accepted values of `Host`, separated by commas, besides loopback names and, when listening beyond loopback, IP addresses. Protects against DNS rebinding.',
    parse: hosts
  },
  allowedOrigins: {
    variable: `${ENV_PREFIX}ALLOWED_ORIGINS`,
    otherwise: 'none',
    about:
      'Origins whose web pages may use the gateway and read its answers (CORS), separated by commas. The origin of the requested host is always allowed. In development mode pages of other loopback origins may send read-only requests, but get no CORS headers.',
    parse: origins
  },
  trustedProxies: {
    variable: `${ENV_PREFIX}TRUSTED_PROXIES`,
    otherwise: 'none',
    about:
      'Reverse proxies in front of the gateway: addresses, networks such as `10.0.0.0/8`, `private` or `loopback`, separated by commas. On their requests the client is the rightmost address of `X-Forwarded-For` that is not listed here; logs, the audit log and limits per address use it. From anyone else the header is ignored. Other `X-Forwarded-…` headers and `Forwarded` are never read.',
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
      'Executables that `stdio` servers may start: absolute paths, separated by commas. If set, variables that load code, such as `LD_PRELOAD`, `NODE_OPTIONS` or `PATH`, are refused in `env`.',
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
    about: 'Concurrent processes of `stdio` servers.',
    parse: integer(1, 10_000)
  },
  stdioQueue: {
    variable: `${ENV_PREFIX}STDIO_QUEUED_CALLS`,
    fallback: '128',
    about: 'Calls that may wait for a process; past it 503.',
    parse: integer(0, 100_000)
  },
  stdioProcessesPerPrincipal: {
    variable: `${ENV_PREFIX}STDIO_PROCESSES_PER_PRINCIPAL`,
    otherwise: 'half of `TOWPATH_STDIO_PROCESSES`',
    about:
      'Processes of `stdio` servers per user or client in enterprise mode. Past it one of its own idle sessions is closed; if there is none the call waits, then gets 429.',
    parse: count
  },
  egressDeny: {
    variable: `${ENV_PREFIX}EGRESS_DENY`,
    otherwise: 'none',
    about:
      'Addresses that the gateway must not connect to: networks such as `10.0.0.0/8`, host names, `private` or `loopback`, separated by commas. Link-local addresses, cloud metadata services, unspecified, multicast and broadcast addresses, and the gateway itself are denied by default.',
    parse: egress
  },
  egressAllow: {
    variable: `${ENV_PREFIX}EGRESS_ALLOW`,
    otherwise: 'none',
    about:
      'Exceptions to denied addresses, in the same form. A listed host name may resolve to any address; a listed network may be reached under any name that is not itself denied.',
    parse: egress
  },
  resultSecrets: {
    variable: `${ENV_PREFIX}RESULT_SECRETS`,
    fallback: 'redact',
    about:
      "Treatment of an answer or notification that contains a secret of its own server (token, headers, variables, secret parameters and arguments): `redact` replaces it with `***`, `block` fails the call, `off` passes it on. Only that server's own secrets of 8 characters or more are searched for. The search takes about 1 µs of CPU for 10 kB and 0.1 ms for 1 MB, with five secrets as with one, and nothing for a server without secrets.",
    parse: oneOf('redact', 'block', 'off')
  },
  toolNames: {
    variable: `${ENV_PREFIX}TOOL_NAMES`,
    fallback: 'leave-out',
    about:
      "Treatment of tools and prompts whose names clients cannot use. `leave-out`: they are not served; names of tools may contain letters, digits, `_`, `-`, `.` and `/`, and have at most 128 characters together with the server's name. `rename`: they are served under a name of letters, digits, `_` and `-`, of at most 64 characters if the server's name allows it; the same tool always gets the same name. `keep`: they are served unchanged.",
    parse: oneOf('leave-out', 'rename', 'keep')
  },
  definitions: {
    variable: `${ENV_PREFIX}DEFINITIONS`,
    otherwise: '`follow`; in enterprise mode `pin`',
    about:
      'Treatment of [definitions](../how-to/pinned-definitions.md) that an upstream has changed, for servers without a policy of their own. `follow`: the change is served at once and shown to administrators. `pin`: the accepted definition is served until somebody accepts the new one; new tools are not served before. `block`: the tool is not served until then.',
    parse: oneOf('follow', 'pin', 'block')
  },
  console: {
    variable: `${ENV_PREFIX}CONSOLE`,
    fallback: 'off',
    about:
      'In enterprise mode: serves the [console](../how-to/console.md), pages for administrators and for those who use the gateway, below `/console/`. Needs `TOWPATH_AUTH=embedded`, with which people sign in.',
    parse: onOff
  },
  policyDefault: {
    variable: `${ENV_PREFIX}POLICY_DEFAULT`,
    otherwise: '`allow`; with `TOWPATH_AUTH=embedded` `deny`',
    about:
      'Use of tools, prompts and resources by users for whom no [policy](../how-to/policies.md) decides: `allow` or `deny`. MCP clients have their allow lists; administrators are allowed.',
    parse: oneOf('allow', 'deny')
  },
  policyFile: {
    variable: `${ENV_PREFIX}POLICY_FILE`,
    about:
      'YAML or JSON file with [policies](../how-to/policies.md#policies-from-a-file), in enterprise mode. It is read at the start, and must be the same for every replica. Its policies cannot be changed over REST.',
    parse: text
  },
  spareSessions: {
    variable: `${ENV_PREFIX}SPARE_SESSIONS`,
    fallback: '1',
    about:
      'Spare sessions, or processes of `stdio` servers, kept ready for each server in `stateless` mode that is called repeatedly; 0 = none.',
    parse: integer(0, 100)
  },
  refreshIntervalMs: {
    variable: `${ENV_PREFIX}REFRESH_INTERVAL_MS`,
    fallback: '300000',
    about: "Interval between refreshes of the servers' lists; one also runs after start. 0 = no refreshes at all.",
    parse: integer(0, 86_400_000)
  },
  registryUrl: {
    variable: `${ENV_PREFIX}REGISTRY_URL`,
    otherwise: 'none: the catalogue is the list that the package contains',
    about:
      'URL of an MCP registry without the path of its API, such as `https://registry.modelcontextprotocol.io`. The [catalogue](../how-to/catalogue.md) is read from it at start and every six hours; if that fails, the last data stays.',
    parse: publicUrl
  },
  catalogueAllow: {
    variable: `${ENV_PREFIX}CATALOGUE_ALLOW`,
    otherwise: 'all',
    about:
      'Servers of the catalogue that are shown and can be installed from it: names, or patterns such as `io.github.modelcontextprotocol/*`, separated by commas. Registrations without the catalogue are not affected.',
    parse: patterns
  },
  approvalWebhookUrl: {
    variable: `${ENV_PREFIX}APPROVAL_WEBHOOK_URL`,
    otherwise: 'none',
    about:
      'URL to which each call is posted that waits for an [approval](../how-to/approvals.md#tell-the-approvers). Needs `TOWPATH_APPROVAL_WEBHOOK_SECRET`.',
    parse: publicUrl
  },
  approvalWebhookSecret: {
    variable: `${ENV_PREFIX}APPROVAL_WEBHOOK_SECRET`,
    file: true,
    secret: true,
    about: 'Key of the signature of messages to `TOWPATH_APPROVAL_WEBHOOK_URL`.',
    parse: token
  },
  definitionsWebhookUrl: {
    variable: `${ENV_PREFIX}DEFINITIONS_WEBHOOK_URL`,
    otherwise: 'none',
    about:
      'URL to which [held definitions](../how-to/pinned-definitions.md#be-told) are posted. Needs `TOWPATH_DEFINITIONS_WEBHOOK_SECRET`.',
    parse: publicUrl
  },
  definitionsWebhookSecret: {
    variable: `${ENV_PREFIX}DEFINITIONS_WEBHOOK_SECRET`,
    file: true,
    secret: true,
    about: 'Key of the signature of messages to `TOWPATH_DEFINITIONS_WEBHOOK_URL`.',
    parse: token
  },
  embeddingsUrl: {
    variable: `${ENV_PREFIX}EMBEDDINGS_URL`,
    otherwise: 'none: search goes by words, and nothing leaves the gateway',
    about:
      'OpenAI-compatible endpoint for [search by vectors](../how-to/tool-groups.md#vectors), without `/embeddings`, such as `http://localhost:11434/v1`. It gets the texts of the tools of groups in search mode, and the queries of agents. Needs `TOWPATH_EMBEDDINGS_MODEL`.',
    parse: publicUrl
  },
  embeddingsModel: {
    variable: `${ENV_PREFIX}EMBEDDINGS_MODEL`,
    otherwise: 'none',
    about: 'Model that the endpoint is asked for, such as `nomic-embed-text`. Another model gets its own vectors.',
    parse: modelName
  },
  embeddingsKey: {
    variable: `${ENV_PREFIX}EMBEDDINGS_KEY`,
    file: true,
    secret: true,
    otherwise: 'none',
    about: 'Sent to `TOWPATH_EMBEDDINGS_URL` as `Authorization: Bearer <key>`.',
    parse: bearer
  },
  auditRetentionDays: {
    variable: `${ENV_PREFIX}AUDIT_RETENTION_DAYS`,
    fallback: '90',
    about: 'Days to keep the audit log.',
    parse: integer(1, 36_500)
  },
  callLog: {
    variable: `${ENV_PREFIX}CALL_LOG`,
    fallback: 'on',
    about: 'Records who called what, the outcome and the duration, for `GET /api/v0/calls` and the charts.',
    parse: onOff
  },
  callLogContents: {
    variable: `${ENV_PREFIX}CALL_LOG_CONTENTS`,
    otherwise: '`on` in development mode, otherwise `off`',
    about:
      'Also records arguments and results of calls: the first 4,096 characters, without values that look like secrets. Contents larger than 64 KiB, and those of more than 200 calls in a second, are not recorded. `off`: only the first 300 characters of what a tool says about its own failure; an administrator can record one server for a time.',
    parse: onOff
  },
  callLogDays: {
    variable: `${ENV_PREFIX}CALL_LOG_RETENTION_DAYS`,
    fallback: '7',
    about: 'Days to keep the call log.',
    parse: integer(1, 36_500)
  },
  callLogRows: {
    variable: `${ENV_PREFIX}CALL_LOG_MAX_ROWS`,
    otherwise: '`1000000`; with the embedded store `100000`',
    about: 'Calls to keep in the call log; past it the oldest are deleted.',
    parse: integer(1, 1_000_000_000)
  },
  connectMs: {
    variable: `${ENV_PREFIX}CONNECT_TIMEOUT_MS`,
    fallback: '30000',
    about: 'Time to connect to a server and initialise the session.',
    parse: duration
  },
  callTimeoutMs: {
    variable: `${ENV_PREFIX}CALL_TIMEOUT_MS`,
    fallback: '60000',
    about: 'Time that a call may take without progress.',
    parse: duration
  },
  callTotalMs: {
    variable: `${ENV_PREFIX}CALL_TOTAL_TIMEOUT_MS`,
    fallback: '300000',
    about: 'Total time of a call.',
    parse: duration
  },
  requestBodyMs: {
    variable: `${ENV_PREFIX}REQUEST_BODY_TIMEOUT_MS`,
    fallback: '30000',
    about: 'Time to receive a request; past it 408.',
    parse: duration
  },
  databaseConnectMs: {
    variable: `${ENV_PREFIX}DATABASE_CONNECT_TIMEOUT_MS`,
    fallback: '2000',
    about: 'Time to wait for a database connection; past it 503.',
    parse: duration
  },
  databaseQueryMs: {
    variable: `${ENV_PREFIX}DATABASE_QUERY_TIMEOUT_MS`,
    fallback: '5000',
    about: 'Time of one database query; past it 503.',
    parse: duration
  },
  drainMs: {
    variable: `${ENV_PREFIX}DRAIN_TIMEOUT_MS`,
    fallback: '25000',
    about: 'Time for requests in progress to finish when the gateway stops.',
    parse: integer(0, 86_400_000)
  },
  sessionIdleMs: {
    variable: `${ENV_PREFIX}SESSION_IDLE_MS`,
    fallback: '1800000',
    about: 'Idle time after which a session ends.',
    parse: duration
  },
  taskHandleDays: {
    variable: `${ENV_PREFIX}TASK_HANDLE_DAYS`,
    fallback: '30',
    about: 'Days for which a client can ask for a task that it started; past it the task is not found.',
    parse: integer(1, 3_650)
  },
  oauthSessionMs: {
    variable: `${ENV_PREFIX}OAUTH_SESSION_MS`,
    fallback: '600000',
    about: 'Time to complete a sign-in at the authorization server of a server.',
    parse: duration
  },
  oauthRetentionMs: {
    variable: `${ENV_PREFIX}OAUTH_RETENTION_MS`,
    fallback: '3600000',
    about: 'Time for which an expired sign-in can still be queried.',
    parse: duration
  },
  restBodyBytes: {
    variable: `${ENV_PREFIX}REST_BODY_BYTES`,
    fallback: '1048576',
    about: 'Request body over REST; past it 413.',
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
    about: 'Nesting depth of JSON in a request, 64 at most; past it 400.',
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
    about: 'Messages in a JSON-RPC batch; past it 400.',
    parse: count
  },
  batchBytes: {
    variable: `${ENV_PREFIX}BATCH_BYTES`,
    fallback: '4194304',
    about: 'Responses to a JSON-RPC batch, in total, 256 MiB at most; past it a response is an error.',
    // V8 limits the length of a string
    parse: integer(1_024, 268_435_456)
  },
  identifierBytes: {
    variable: `${ENV_PREFIX}IDENTIFIER_BYTES`,
    fallback: '8192',
    about:
      'A URI, name, cursor, token or id in a request on MCP endpoints; past it the error `invalid params`. Eight times as much for `requestState` and `clientInfo`.',
    parse: integer(256, 1_048_576)
  },
  headerBytes: {
    variable: `${ENV_PREFIX}HEADER_BYTES`,
    fallback: '16384',
    about: 'Request line and headers; past it 431.',
    parse: integer(1_024, 1_048_576)
  },
  upstreamResponseBytes: {
    variable: `${ENV_PREFIX}UPSTREAM_RESPONSE_BYTES`,
    fallback: '16777216',
    about: 'One response of a server; past it 502.',
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
      'Client sessions and listening streams. Past it the session that was idle for longest is closed; if every session has an open stream, and for a new stream, 503.',
    parse: count
  },
  sessionsPerPrincipal: {
    variable: `${ENV_PREFIX}SESSIONS_PER_PRINCIPAL`,
    fallback: '1000',
    about:
      'The same per client in enterprise mode: its own longest-idle session is closed; if each has an open stream, 429. The same number applies to its listening streams.',
    parse: count
  },
  subscriptionsPerPrincipal: {
    variable: `${ENV_PREFIX}SUBSCRIPTIONS_PER_PRINCIPAL`,
    fallback: '10000',
    about: 'Resource subscriptions per client in enterprise mode; past it 429.',
    parse: count
  },
  subscriptionBytes: {
    variable: `${ENV_PREFIX}SUBSCRIPTION_BYTES`,
    fallback: '33554432',
    about:
      'Memory for the resource subscriptions of all clients; past it 429. In enterprise mode one client may use a quarter of it.',
    parse: bytes
  },
  callBytes: {
    variable: `${ENV_PREFIX}CALL_BYTES`,
    otherwise: '`134217728`; with less than 2 GiB of memory a sixteenth of it, at least `16777216`',
    about:
      'Requests of all calls in progress or waiting; past it 429. As many bytes again for bodies that are being received; past it 503. In enterprise mode one user or client may use a quarter of each.',
    parse: bytes
  },
  pendingBytes: {
    variable: `${ENV_PREFIX}PENDING_BYTES`,
    otherwise: '`268435456`; with less than 2 GiB of memory an eighth of it, at least `67108864`',
    about:
      'Unfinished responses and unanswered requests of all servers; past it 502. One server may use a quarter of it.',
    parse: bytes
  },
  upstreamSessions: {
    variable: `${ENV_PREFIX}UPSTREAM_SESSIONS`,
    fallback: '5000',
    about:
      'Sessions with servers in `stateful` mode over HTTP. Past it an idle session of a caller with more than an equal share is closed, for a caller without sessions any idle one; if there is none, 503.',
    parse: count
  },
  upstreamSessionsPerPrincipal: {
    variable: `${ENV_PREFIX}UPSTREAM_SESSIONS_PER_PRINCIPAL`,
    fallback: '500',
    about:
      'The same per user or client in enterprise mode: one of its own idle sessions is closed; if all are in use, 429.',
    parse: count
  },
  callsPerPrincipal: {
    variable: `${ENV_PREFIX}CALLS_PER_PRINCIPAL`,
    fallback: '64',
    about: 'Calls in progress per user or client in enterprise mode; past it 429.',
    parse: count
  },
  connections: {
    variable: `${ENV_PREFIX}CONNECTIONS`,
    fallback: '20000',
    about:
      'Client connections, but at most four fifths of the files that the process may open. Past it the oldest connection without a request in progress is closed; if there is none, the new one.',
    parse: count
  },
  connectionsPerAddress: {
    variable: `${ENV_PREFIX}CONNECTIONS_PER_ADDRESS`,
    fallback: '15000',
    about:
      'The same per address or IPv6 /64 network. `TOWPATH_TRUSTED_PROXIES` are not counted: behind a proxy that is not listed there all clients share this limit.',
    parse: count
  },
  pipelinedRequests: {
    variable: `${ENV_PREFIX}PIPELINED_REQUESTS`,
    fallback: '16',
    about:
      'Requests that wait on one connection for the answer to an earlier one; past it the connection is closed after the last of them.',
    parse: count
  },
  unsentBytes: {
    variable: `${ENV_PREFIX}UNSENT_BYTES`,
    otherwise: '`134217728`; with less than 2 GiB of memory a sixteenth of it, at least `16777216`',
    about:
      'Bytes of all connections that clients have not read yet; past it the connections that were unread for longest are closed. In enterprise mode one client may use a quarter of it on MCP endpoints.',
    parse: bytes
  },
  unreadAnswerMs: {
    variable: `${ENV_PREFIX}UNREAD_ANSWER_TIMEOUT_MS`,
    fallback: '60000',
    about: 'Time for which a client may read nothing of an answer or stream; past it the connection is closed.',
    parse: duration
  },
  failedAuthentications: {
    variable: `${ENV_PREFIX}FAILED_AUTHENTICATIONS`,
    fallback: '600',
    about:
      'Requests with a wrong access token per minute and address in enterprise mode; past it 429 instead of 401. Requests with a valid token are never counted or refused, whatever else comes from the same address.',
    parse: count
  },
  heapPercent: {
    variable: `${ENV_PREFIX}HEAP_PERCENT`,
    fallback: '90',
    about:
      'Memory in use, in per cent of the heap limit of Node.js; past it new work gets 503, while `/health` and administrators are still served.',
    parse: integer(1, 100)
  },
  memoryLimitBytes: {
    variable: `${ENV_PREFIX}MEMORY_LIMIT_BYTES`,
    otherwise: 'the limit of the container, or the memory of the machine',
    about:
      'Memory that the process may use, or all [workers](../explanation/workers.md) together, including buffers but not `stdio` servers.',
    parse: integer(1_048_576, 1_099_511_627_776)
  },
  memoryPercent: {
    variable: `${ENV_PREFIX}MEMORY_PERCENT`,
    fallback: '85',
    about:
      'Resident memory, in per cent of `TOWPATH_MEMORY_LIMIT_BYTES`; past it new work gets 503 as with `TOWPATH_HEAP_PERCENT`, unless most of it is only retained by the allocator.',
    parse: integer(1, 100)
  },
  eventLoopLagMs: {
    variable: `${ENV_PREFIX}EVENT_LOOP_LAG_MS`,
    fallback: '2000',
    about:
      'Lag of the event loop; past it for five seconds new work gets 503, while `/health` and administrators are still served.',
    parse: duration
  }
} satisfies Record<string, Setting>
