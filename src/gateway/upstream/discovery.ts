import { isObject } from '../../domain/is-object.ts'
import type { Offer, ReadingTimes, Transport } from '../../registry/model.ts'
import type { Answer } from './call.ts'
import type { Connection, Era, Greeting, TransportClient } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import { valueOfAnswer } from './http-message.ts'
import { answerPush, ask, listingCapabilities, readLists, type Lists, type ReadOptions } from './lists.ts'
import { Opening } from './stages.ts'
import { META, MODERN_VERSION } from '../../domain/protocol.ts'

/** A server that does not know `server/discover` may not answer it at all (mcp-proxy.md#upstream-negotiation). */
const PROBE_MS = { streamable_http: 5_000, stdio: 4_000 }
/** For `initialize` of an upstream that is known to be modern: it may not answer it at all either. */
const LEGACY_PROBE_MS = 5_000
const PROCESS_END_MS = 8_000
const HEADER_MISMATCH = -32020
const MISSING_CAPABILITY = -32021
const UNSUPPORTED_VERSION = -32022

/** What was found over one era's wire. */
interface Found {
  readonly greeting: Greeting
  readonly hasSession: boolean
  /** Read where this is the wire that lists are read over. */
  readonly lists: Lists | null
  readonly took: ReadingTimes
}

/** `initialize`: from the connection, or from its opening where that greets, to `greetedAt`. */
function timesOf({ startedAt, greetedAt, openAt }: Opening, heardAt: number, endedAt: number): ReadingTimes {
  const initialize = heardAt - (greetedAt || openAt)
  return { ...(startedAt > 0 ? { start: greetedAt - startedAt } : {}), initialize, lists: endedAt - heardAt }
}

const speaksOurs = (versions: unknown) => Array.isArray(versions) && versions.includes(MODERN_VERSION)

/** An error that only a modern server answers with; where it tells its versions, ours must be one of them. */
function isModernError({ code, data }: Record<string, unknown>): boolean {
  if (code === HEADER_MISMATCH || code === MISSING_CAPABILITY) return true
  return code === UNSUPPORTED_VERSION && isObject(data) && speaksOurs(data.supported)
}

/** What a modern server says of itself; null where the answer shows that it is none. */
function readDiscovery(given: Answer): Greeting | null {
  const answer = valueOfAnswer(given)
  const unknown = { version: MODERN_VERSION, capabilities: {}, serverInfo: null, instructions: null }
  if (given.kind === 'error') return isModernError(answer) ? unknown : null
  const { supportedVersions, capabilities, instructions, _meta: meta } = answer
  if (!speaksOurs(supportedVersions)) return null
  const serverInfo = (isObject(meta) ? meta[`${META}serverInfo`] : undefined) ?? answer.serverInfo
  return {
    version: MODERN_VERSION,
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: isObject(serverInfo) ? serverInfo : null,
    instructions: typeof instructions === 'string' ? instructions : null
  }
}

/** Waits until nothing is left of a process; HTTP connections have nothing to wait for. */
async function end(connection: Connection): Promise<void> {
  connection.close()
  if (!connection.ended) return
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, PROCESS_END_MS)))
  await Promise.race([connection.ended, limit])
  clearTimeout(timer)
}

async function onConnection<T>(
  client: TransportClient,
  era: Era,
  deadline: number,
  use: (connection: Connection, opening: Opening) => Promise<T>
): Promise<T> {
  const opening = new Opening()
  const connection = await client.open({ era, capabilities: listingCapabilities, deadline, opening })
  opening.openAt = performance.now()
  connection.onRequest = answerPush
  try {
    return await use(connection, opening)
  } finally {
    await end(connection)
  }
}

const isAuth = (error: unknown) => error instanceof UpstreamFailure && error.reason === 'auth'

/** The modern wire with its lists, null where the upstream has none. A refused credential says nothing about the era. */
async function findModern(client: TransportClient, transport: 'stdio' | 'streamable_http', options: ReadOptions) {
  const now = performance.now()
  // however short the time is, half of it is for `initialize`
  const probeEnd = now + Math.min(PROBE_MS[transport], (options.deadline - now) / 2)
  // a process that speaks modern has been asked when it was opened
  const discover = async (connection: Connection) =>
    transport === 'stdio' ? connection.greeting : readDiscovery(await ask(connection, 'server/discover', '', probeEnd))
  let isFound = false
  try {
    return await onConnection(client, 'modern', probeEnd, async (connection, opening): Promise<Found | null> => {
      const greeting = await discover(connection)
      if (!greeting) return null
      isFound = true
      const heardAt = performance.now()
      const lists = await readLists(connection, greeting.capabilities, options)
      return { greeting, hasSession: false, lists, took: timesOf(opening, heardAt, performance.now()) }
    })
  } catch (error) {
    if (isFound || isAuth(error) || !(error instanceof UpstreamFailure)) throw error
    return null
  }
}

/** The legacy wire; its lists are read only where there is no other. */
const findLegacy = (client: TransportClient, deadline: number, options: ReadOptions | null): Promise<Found> =>
  onConnection(client, 'legacy', deadline, async (connection, opening) => {
    const { greeting } = connection
    const lists = options && (await readLists(connection, greeting.capabilities, options))
    const hasSession = (connection as { hasSession?: boolean }).hasSession ?? true
    return { greeting, hasSession, lists, took: timesOf(opening, opening.openAt, performance.now()) }
  })

async function findBoth(client: TransportClient, transport: Transport, options: ReadOptions) {
  const modern = transport === 'sse' ? null : await findModern(client, transport, options)
  if (!modern) return { modern, legacy: await findLegacy(client, options.deadline, options) }
  const deadline = Math.min(options.deadline, performance.now() + LEGACY_PROBE_MS)
  const legacy = await findLegacy(client, deadline, null).catch(() => null)
  return { modern, legacy }
}

/**
 * Finds out what an upstream speaks and reads its lists, over the modern wire where there is one
 * (mcp-proxy.md#upstream-negotiation, mcp-proxy.md#reading-upstream-lists).
 * Of a process there is never more than one at a time. Rejects with UpstreamFailure. Closes what it opened.
 */
export async function readUpstream(
  client: TransportClient,
  transport: Transport,
  options: ReadOptions
): Promise<Offer> {
  const { modern, legacy } = await findBoth(client, transport, options)
  const { greeting, lists, took } = (modern ?? legacy)!
  const { capabilities, serverInfo, instructions } = greeting
  const verdict = {
    modern: modern?.greeting.version ?? null,
    legacy: legacy?.greeting.version ?? null,
    hasSessions: transport !== 'streamable_http' || legacy?.hasSession === true,
    capabilities,
    serverInfo,
    instructions,
    checkedAt: new Date().toISOString(),
    ...(lists?.ttlMs === undefined ? {} : { listTtlMs: lists.ttlMs })
  }
  return { verdict, items: lists?.items ?? [], leftOut: lists?.leftOut, took }
}
