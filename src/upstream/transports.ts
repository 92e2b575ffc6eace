import type { Transport } from '../domain/transports.ts'
import type { buildConnector } from 'undici'
import type { ServerConfig, ServerSecrets, ServerSettings, Negotiation } from '../registry/model/model.ts'
import { searchableSecrets } from '../domain/secrets/known-secrets.ts'
import { loadsCode } from '../domain/loading-variables.ts'
import type { ConnectRequester } from '../observe/connect-timings.ts'
import type { Quota } from '../lib/quota.ts'
import { withAuthorization, type Authorization } from './transport/authorization.ts'
import type { TransportClient } from './transport/connection.ts'
import { UpstreamFailure } from '../protocol/upstream-failure.ts'
import { createHttpClient, type HttpClientOptions } from './http/streamable-http-client.ts'
import { memoryQuota } from './transport/memory-quota.ts'
import type { ReadScheduler } from './transport/read-scheduler.ts'
import { createScreen, type MessageScreen, type SecretsMode } from './transport/result-secrets.ts'
import { createSseClient } from './http/sse-client.ts'
import type { ChildRegistry } from './stdio/child-registry.ts'
import type { Log } from './stdio/process.ts'
import { createStderrTail, printable, type StderrTail } from './stdio/stderr.ts'
import { createStdioClient } from './stdio/stdio-client.ts'

/** A server to connect to, registered or not. */
export interface Target {
  readonly name: string
  readonly transport: Transport
  readonly settings: ServerSettings
  readonly secrets: ServerSecrets
  /** Null before discovery. */
  readonly negotiation: Negotiation | null
  /** OAuth tokens, if a user signed in. */
  readonly authorization?: Authorization | undefined
  /** Receives the stderr of the process; absent: the tail of the registered server of this name. */
  readonly tail?: StderrTail
  /** Request that the connection is opened for; absent if the gateway itself needs it. */
  readonly requester?: ConnectRequester
  /** Set if no request may be sent, for example because the secrets cannot be decrypted. */
  readonly problem?: UpstreamFailure
}

/** Policy for stdio servers: they may be switched off, or restricted to a list of commands. */
interface StdioPolicy {
  readonly enabled: boolean
  readonly commands: readonly string[] | null
}

/** Returns the secret part of a configuration. */
export const secretsOf = ({ bearer_token, headers, env, oauth_client_secret }: ServerConfig): ServerSecrets => ({
  ...(bearer_token === undefined ? {} : { bearer_token }),
  ...(headers === undefined ? {} : { headers }),
  ...(env === undefined ? {} : { env }),
  ...(oauth_client_secret === undefined ? {} : { oauth_client_secret })
})

/** Returns the target of a configuration that is not stored, or not yet. */
export const configTarget = (config: ServerConfig, authorization?: Authorization) =>
  ({
    name: config.name,
    transport: config.transport,
    settings: config,
    secrets: secretsOf(config),
    negotiation: null,
    authorization,
    tail: createStderrTail()
  }) satisfies Target

export interface TransportOptions {
  readonly readingTurns: ReadScheduler
  /** Product version, sent to upstreams in `clientInfo`. */
  readonly version: string
  /** Connector for HTTP that enforces the egress policy. */
  readonly connector: buildConnector.connector
  readonly maxResponseBytes: number
  /** Quota on bytes buffered for each server. */
  readonly pending: Quota
  /** Treatment of messages of a server that contain its own secrets. */
  readonly resultSecrets: SecretsMode
  readonly stdio: StdioPolicy & {
    readonly environment: Readonly<Record<string, string | undefined>>
    readonly uid: number | undefined
    readonly gid: number | undefined
    readonly cwd: string | undefined
  }
  readonly children: ChildRegistry
  readonly log: Log
}

export interface Transports {
  create(target: Target): TransportClient
  /** Returns the last lines on stderr of a server's processes. */
  tail(name: string): StderrTail
  /** Drops the stderr of servers that are not in `names`. */
  prune(names: ReadonlySet<string>): void
}

/**
 * Returns the headers for an upstream. `Authorization` in `headers`, in any letter case, takes precedence over
 * `bearer_token` (http-contract.md#registration-input).
 */
function upstreamHeaders({ headers = {}, bearer_token }: ServerSecrets): Record<string, string> {
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  return isGiven || bearer_token === undefined
    ? { ...headers }
    : { ...headers, Authorization: `Bearer ${bearer_token}` }
}

/** Returns true if requests carry a credential; a 401 then means that the upstream rejects it. */
export const hasCredential = (secrets: ServerSecrets) =>
  Object.keys(upstreamHeaders(secrets)).some((name) => name.toLowerCase() === 'authorization')

/**
 * Checks the policy at each start of a process, because a server may have been registered before the setting changed.
 */
function stdioProblem({ enabled, commands }: StdioPolicy, { settings, secrets }: Target): string | undefined {
  if (!enabled) return 'stdio servers are disabled (TOWPATH_STDIO)'
  if (commands === null) return undefined
  if (!commands.includes(settings.command ?? '')) {
    return 'the command is not in the list of allowed commands (TOWPATH_STDIO_COMMANDS)'
  }
  const loading = Object.keys(secrets.env ?? {}).find(loadsCode)
  if (loading === undefined) return undefined
  const shown = JSON.stringify(printable(loading, 64))
  return `env: ${shown} can load code into an allowed command (TOWPATH_STDIO_COMMANDS)`
}

const FOUND_LOG_MS = 60_000

/** Creates filters that search the messages of a server for its own secrets, and log a match at most once a minute. */
function createScreens({ resultSecrets: mode, log }: Pick<TransportOptions, 'resultSecrets' | 'log'>) {
  return ({ name, settings, secrets, authorization }: Target): MessageScreen | null => {
    if (mode === 'off') return null
    const fixed = { ...settings, ...secrets }
    let known = searchableSecrets(fixed, authorization?.secrets)
    if (known.length === 0 && !authorization) return null
    let tokens = authorization?.secrets
    let loggedAt = -Infinity
    return createScreen({
      mode,
      secrets() {
        if (authorization?.secrets === tokens) return known
        tokens = authorization?.secrets
        return (known = searchableSecrets(fixed, tokens))
      },
      onFound() {
        if (performance.now() - loggedAt < FOUND_LOG_MS) return
        loggedAt = performance.now()
        log.warn({ server: name, mode }, 'a message of a server contains one of its own secrets')
      }
    })
  }
}

const DROPPED_PER_MINUTE = 20

/** Logs dropped messages of a server, at most 20 a minute. */
function createDropLog(server: string, log: Log): (why: string) => void {
  let minute = -1
  let count = 0
  return (why) => {
    const now = Math.floor(performance.now() / 60_000)
    count = now === minute ? count + 1 : 1
    minute = now
    if (count <= DROPPED_PER_MINUTE) log.warn({ server, why }, 'a message of a server is malformed and dropped')
  }
}

const refusingClient = (problem: UpstreamFailure): TransportClient => ({
  open: () => Promise.reject(problem),
  close() {}
})

export function createTransports(options: TransportOptions): Transports {
  const { readingTurns, version, connector, maxResponseBytes, pending, stdio, children, log } = options
  const screens = createScreens(options)
  const tails = new Map<string, StderrTail>()
  const tail = (name: string) => {
    const known = tails.get(name) ?? createStderrTail()
    tails.set(name, known)
    return known
  }
  const httpOptions = (target: Target): HttpClientOptions => {
    const { settings, secrets, negotiation, authorization } = target
    const memory = memoryQuota(pending, target.name)
    return {
      url: settings.url ?? '',
      headers: upstreamHeaders(secrets),
      version,
      connector,
      maxResponseBytes,
      memory,
      reads: readingTurns.server(memory),
      negotiation,
      authorization,
      screen: screens(target),
      onDropped: createDropLog(target.name, log)
    }
  }
  const stdioClient = (target: Target) => {
    const {
      name,
      settings: { command = '', args = [] },
      secrets,
      tail: own,
      requester
    } = target
    const problem = stdioProblem(stdio, target)
    if (problem !== undefined) return refusingClient(new UpstreamFailure('denied', problem, { maybeProcessed: false }))
    const memory = memoryQuota(pending, name)
    return createStdioClient({
      server: name,
      command,
      args,
      env: secrets.env ?? {},
      gatewayEnv: stdio.environment,
      cwd: stdio.cwd,
      uid: stdio.uid,
      gid: stdio.gid,
      limits: { maxLineBytes: maxResponseBytes },
      memory,
      reads: readingTurns.server(memory),
      log,
      requester,
      tail: own ?? tail(name),
      children,
      screen: screens(target),
      version
    })
  }
  return {
    create(target) {
      if (target.problem) return refusingClient(target.problem)
      if (target.transport === 'stdio') return stdioClient(target)
      const client =
        target.transport === 'sse' ? createSseClient(httpOptions(target)) : createHttpClient(httpOptions(target))
      return target.authorization ? withAuthorization(client, target.authorization) : client
    },
    tail,
    prune(names) {
      for (const name of tails.keys()) if (!names.has(name)) tails.delete(name)
    }
  }
}
