import { objectOr } from '../../domain/is-object.ts'
import { PRODUCT } from '../../domain/product.ts'
import { timeLeft } from '../../domain/timers.ts'
import { silentSink, Call } from './call.ts'
import type { OutgoingRequest } from './call.ts'
import type { ServerGreeting, OpenOptions } from './connection.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { LATEST_LEGACY_VERSION, LEGACY_VERSIONS, META, MODERN_VERSION } from '../../domain/mcp-constants.ts'
import type { JsonRpcPeer } from './jsonrpc-peer.ts'
import { checkGreeting } from './memory-quota.ts'

type JsonObject = Readonly<Record<string, unknown>>

/** Returns the gateway's `clientInfo` for upstreams as JSON text. */
export const clientInfo = (version: string): string => JSON.stringify({ name: PRODUCT, version })

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const plain = (value: unknown): string =>
  (typeof value === 'string' ? value : String(JSON.stringify(value))).replace(/\p{Cc}+/gu, ' ').slice(0, 200)

async function sendRequest(
  peer: JsonRpcPeer,
  request: OutgoingRequest,
  { capabilities, deadline }: OpenOptions
): Promise<JsonObject> {
  const call = new Call(request, { ...silentSink, capabilities })
  const expire = () => call.stop(new UpstreamFailure('timeout', `no answer to ${request.method} in time`))
  const timer = setTimeout(expire, timeLeft(deadline))
  try {
    const { kind, body } = await peer.send(call)
    checkGreeting(body.length)
    const value = JSON.parse(body.toString()) as JsonObject
    if (kind === 'result') return value
    throw new UpstreamFailure('bad_response', `refused ${request.method}: ${plain(value.message)}`)
  } finally {
    clearTimeout(timer)
  }
}

/** Runs the legacy handshake: `initialize`, `notifications/initialized`. Rejects with UpstreamFailure. */
export async function initialize(peer: JsonRpcPeer, info: string, options: OpenOptions): Promise<ServerGreeting> {
  const members = `"protocolVersion":"${LATEST_LEGACY_VERSION}","capabilities":${options.capabilities},"clientInfo":${info}`
  const { protocolVersion, capabilities, serverInfo, instructions } = await sendRequest(
    peer,
    { method: 'initialize', members, meta: '' },
    options
  )
  const version = textOrNull(protocolVersion)
  if (version === null || !LEGACY_VERSIONS.includes(version)) {
    throw new UpstreamFailure('bad_response', `speaks an unknown protocol version (${plain(protocolVersion)})`)
  }
  peer.notify('notifications/initialized', '')
  return {
    version,
    capabilities: objectOr(capabilities, {}),
    serverInfo: objectOr(serverInfo, null),
    instructions: textOrNull(instructions)
  }
}

/** Runs `server/discover`; the peer must be modern. Rejects with UpstreamFailure. */
export async function discover(peer: JsonRpcPeer, options: OpenOptions): Promise<ServerGreeting> {
  const result = await sendRequest(peer, { method: 'server/discover', members: '', meta: '' }, options)
  const { supportedVersions, capabilities, instructions, _meta } = result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION)) {
    throw new UpstreamFailure('bad_response', `does not speak protocol version ${MODERN_VERSION}`)
  }
  return {
    version: MODERN_VERSION,
    capabilities: objectOr(capabilities, {}),
    serverInfo: objectOr(objectOr<JsonObject>(_meta, {})[`${META}serverInfo`], null),
    instructions: textOrNull(instructions)
  }
}
