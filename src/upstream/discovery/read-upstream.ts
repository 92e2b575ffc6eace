import type { Transport } from '../../domain/transports.ts'
import { isObject } from '../../domain/is-object.ts'
import type { UpstreamOffer, DiscoveryTimings } from '../../registry/model/model.ts'
import type { Answer } from '../transport/call.ts'
import type { Connection, Era, ServerGreeting, TransportClient } from '../transport/connection.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { valueOfAnswer } from '../transport/message.ts'
import {
  answerServerRequest,
  sendRequest,
  listingCapabilities,
  readLists,
  type Lists,
  type ReadOptions
} from './list-items.ts'
import { ConnectTimings } from '../../observe/connect-timings.ts'
import { META, MODERN_VERSION } from '../../domain/mcp-constants.ts'

/** A legacy server may not answer `server/discover` at all (mcp-proxy.md#upstream-negotiation). */
const PROBE_MS = { streamable_http: 5_000, stdio: 4_000 }
/** Time for `initialize` on an upstream known to be modern, which may not answer `initialize` at all. */
const LEGACY_PROBE_MS = 5_000
const PROCESS_END_MS = 8_000
const HEADER_MISMATCH = -32020
const MISSING_CAPABILITY = -32021
const UNSUPPORTED_VERSION = -32022

/** Outcome of probing one era. */
interface ProbeResult {
  readonly greeting: ServerGreeting
  readonly hasSession: boolean
  /** Null if the lists are read over the other era. */
  readonly lists: Lists | null
  readonly times: DiscoveryTimings
}

/** `initialize` is measured from connecting, or from `initializeAt` if the connect phase includes the handshake. */
function readingTimes(
  { startedAt, initializeAt, openedAt }: ConnectTimings,
  initializedAt: number,
  endedAt: number
): DiscoveryTimings {
  const initialize = initializedAt - (initializeAt || openedAt)
  return { ...(startedAt > 0 ? { start: initializeAt - startedAt } : {}), initialize, lists: endedAt - initializedAt }
}

const includesModernVersion = (versions: unknown) => Array.isArray(versions) && versions.includes(MODERN_VERSION)

/** True for an error that only a modern server sends; if it lists its versions, ours must be among them. */
function isModernError({ code, data }: Record<string, unknown>): boolean {
  if (code === HEADER_MISMATCH || code === MISSING_CAPABILITY) return true
  return code === UNSUPPORTED_VERSION && isObject(data) && includesModernVersion(data.supported)
}

/** Reads an answer to `server/discover`; null if it shows that the server is not modern. */
function readDiscovery(response: Answer): ServerGreeting | null {
  const answer = valueOfAnswer(response)
  const unknown = { version: MODERN_VERSION, capabilities: {}, serverInfo: null, instructions: null }
  if (response.kind === 'error') return isModernError(answer) ? unknown : null
  const { supportedVersions, capabilities, instructions, _meta: meta } = answer
  if (!includesModernVersion(supportedVersions)) return null
  const serverInfo = (isObject(meta) ? meta[`${META}serverInfo`] : undefined) ?? answer.serverInfo
  return {
    version: MODERN_VERSION,
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: isObject(serverInfo) ? serverInfo : null,
    instructions: typeof instructions === 'string' ? instructions : null
  }
}

/** Closes a connection and waits until its processes are gone; HTTP connections need no wait. */
async function closeAndWait(connection: Connection): Promise<void> {
  connection.close()
  if (!connection.ended) return
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, PROCESS_END_MS)))
  await Promise.race([connection.ended, limit])
  clearTimeout(timer)
}

async function withConnection<T>(
  client: TransportClient,
  era: Era,
  deadline: number,
  use: (connection: Connection, timings: ConnectTimings) => Promise<T>
): Promise<T> {
  const timings = new ConnectTimings()
  const connection = await client.open({ era, capabilities: listingCapabilities, deadline, timings })
  timings.openedAt = performance.now()
  connection.onRequest = answerServerRequest
  try {
    return await use(connection, timings)
  } finally {
    await closeAndWait(connection)
  }
}

const isAuth = (error: unknown) => error instanceof UpstreamFailure && error.reason === 'auth'

/**
 * Probes the modern era and reads the lists; null if the upstream does not speak it. A refused credential is rethrown:
 * it says nothing about the era.
 */
async function probeModern(client: TransportClient, transport: 'stdio' | 'streamable_http', options: ReadOptions) {
  const now = performance.now()
  // reserve half of a short time limit for `initialize`
  const probeEnd = now + Math.min(PROBE_MS[transport], (options.deadline - now) / 2)
  // a modern stdio server was already asked during its handshake
  const discover = async (connection: Connection) =>
    transport === 'stdio'
      ? connection.greeting
      : readDiscovery(await sendRequest(connection, 'server/discover', '', probeEnd))
  let isDiscovered = false
  try {
    return await withConnection(
      client,
      'modern',
      probeEnd,
      async (connection, timings): Promise<ProbeResult | null> => {
        const greeting = await discover(connection)
        if (!greeting) return null
        isDiscovered = true
        const initializedAt = performance.now()
        const lists = await readLists(connection, greeting.capabilities, options)
        return { greeting, hasSession: false, lists, times: readingTimes(timings, initializedAt, performance.now()) }
      }
    )
  } catch (error) {
    if (isDiscovered || isAuth(error) || !(error instanceof UpstreamFailure)) throw error
    return null
  }
}

/** Probes the legacy era; reads the lists only if there is no modern era (`options` given). */
const probeLegacy = (client: TransportClient, deadline: number, options: ReadOptions | null): Promise<ProbeResult> =>
  withConnection(client, 'legacy', deadline, async (connection, timings) => {
    const { greeting } = connection
    const lists = options && (await readLists(connection, greeting.capabilities, options))
    const hasSession = (connection as { hasSession?: boolean }).hasSession ?? true
    return { greeting, hasSession, lists, times: readingTimes(timings, timings.openedAt, performance.now()) }
  })

async function probeEras(client: TransportClient, transport: Transport, options: ReadOptions) {
  const modern = transport === 'sse' ? null : await probeModern(client, transport, options)
  if (!modern) return { modern, legacy: await probeLegacy(client, options.deadline, options) }
  const deadline = Math.min(options.deadline, performance.now() + LEGACY_PROBE_MS)
  const legacy = await probeLegacy(client, deadline, null).catch(() => null)
  return { modern, legacy }
}

/**
 * Finds out which eras an upstream speaks and reads its lists, over the modern era if available
 * (mcp-proxy.md#upstream-negotiation, mcp-proxy.md#reading-upstream-lists). Runs at most one process of the server at a
 * time. Rejects with UpstreamFailure. Closes every connection that it opened.
 */
export async function readUpstream(
  client: TransportClient,
  transport: Transport,
  options: ReadOptions
): Promise<UpstreamOffer> {
  const { modern, legacy } = await probeEras(client, transport, options)
  const { greeting, lists, times } = (modern ?? legacy)!
  const { capabilities, serverInfo, instructions } = greeting
  const negotiation = {
    modern: modern?.greeting.version ?? null,
    legacy: legacy?.greeting.version ?? null,
    hasSessions: transport !== 'streamable_http' || legacy?.hasSession === true,
    capabilities,
    serverInfo,
    instructions,
    checkedAt: new Date().toISOString(),
    ...(lists?.ttlMs === undefined ? {} : { listTtlMs: lists.ttlMs })
  }
  return { negotiation, items: lists?.items ?? [], leftOut: lists?.leftOut, timings: times }
}
