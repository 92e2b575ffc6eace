import type { Offer, Transport } from '../../registry/model.ts'
import type { Answer } from './call.ts'
import type { Connection, Greeting, TransportClient } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import { answerPush, ask, listingCapabilities, readLists, type ReadOptions } from './lists.ts'
import { MODERN_VERSION } from './peer.ts'

/** A server that does not know `server/discover` may not answer it at all (proxy page 4.1). */
const PROBE_MS = { streamable_http: 5_000, stdio: 4_000 }
/** Header mismatch, missing capability, unsupported version: nobody but a modern server answers so. */
const modernErrors = new Set([-32020, -32021, -32022])

/** One era of an upstream, open for reading. */
interface Wire {
  readonly connection: Connection
  readonly greeting: Greeting
}

async function open(client: TransportClient, era: 'legacy' | 'modern', deadline: number): Promise<Connection> {
  const connection = await client.open({ era, capabilities: listingCapabilities, deadline })
  connection.onRequest = answerPush
  return connection
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What a modern server says of itself; undefined where the answer shows that it is none. */
function readDiscovery({ kind, body }: Answer): Greeting | undefined {
  const answer = JSON.parse(body.toString()) as Record<string, unknown>
  if (kind === 'error') {
    const isModern = modernErrors.has(answer['code'] as number)
    return isModern ? { version: MODERN_VERSION, capabilities: {}, serverInfo: null, instructions: null } : undefined
  }
  const { supportedVersions, capabilities, instructions, _meta: meta } = answer
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION)) return undefined
  const stamped = isObject(meta) ? meta['io.modelcontextprotocol/serverInfo'] : undefined
  const serverInfo = stamped ?? answer['serverInfo']
  return {
    version: MODERN_VERSION,
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: isObject(serverInfo) ? serverInfo : null,
    instructions: typeof instructions === 'string' ? instructions : null
  }
}

/** Over HTTP nothing is opened on the modern wire: the question itself is the probe. */
async function probeHttp(client: TransportClient, deadline: number): Promise<Wire | undefined> {
  const connection = await open(client, 'modern', deadline)
  const greeting = readDiscovery(await ask(connection, 'server/discover', '', deadline))
  return greeting && { connection, greeting }
}

async function probeProcess(client: TransportClient, deadline: number): Promise<Wire> {
  const connection = await open(client, 'modern', deadline)
  return { connection, greeting: connection.greeting }
}

/** The modern wire, where the upstream has it. */
async function probe(client: TransportClient, transport: Transport, deadline: number): Promise<Wire | undefined> {
  if (transport === 'sse') return undefined
  const until = Math.min(deadline, performance.now() + PROBE_MS[transport])
  try {
    return await (transport === 'stdio' ? probeProcess(client, until) : probeHttp(client, until))
  } catch (error) {
    // a refused credential says nothing about the era and would be refused again; all else is left to `initialize`
    if (error instanceof UpstreamFailure && error.reason !== 'auth') return undefined
    throw error
  }
}

async function openLegacy(client: TransportClient, deadline: number): Promise<Wire> {
  const connection = await open(client, 'legacy', deadline)
  return { connection, greeting: connection.greeting }
}

interface Found {
  readonly modern: Wire | undefined
  readonly legacy: Wire | undefined
}

async function findEras(client: TransportClient, transport: Transport, deadline: number): Promise<Found> {
  const modern = await probe(client, transport, deadline)
  if (!modern) return { modern, legacy: await openLegacy(client, deadline) }
  // one process at a time: some servers hold a lock or a port
  if (transport === 'stdio') return { modern, legacy: undefined }
  return { modern, legacy: await openLegacy(client, deadline).catch(() => undefined) }
}

const hasSessions = (transport: Transport, { legacy }: Found) =>
  transport !== 'streamable_http' || (legacy?.connection as { hasSession?: boolean } | undefined)?.hasSession === true

/**
 * Finds out what an upstream speaks and reads its lists, over the modern wire where there is one (proxy page 4.1, 4.3).
 * Rejects with UpstreamFailure. Closes what it opened.
 */
export async function readUpstream(
  client: TransportClient,
  transport: Transport,
  options: ReadOptions
): Promise<Offer> {
  const found = await findEras(client, transport, options.deadline)
  const { connection, greeting } = (found.modern ?? found.legacy)!
  const { capabilities, serverInfo, instructions } = greeting
  try {
    const items = await readLists(connection, capabilities, options)
    const verdict = {
      modern: found.modern?.greeting.version ?? null,
      legacy: found.legacy?.greeting.version ?? null,
      hasSessions: hasSessions(transport, found),
      capabilities,
      serverInfo,
      instructions,
      checkedAt: new Date().toISOString()
    }
    return { verdict, items }
  } finally {
    found.modern?.connection.close()
    found.legacy?.connection.close()
  }
}
