import { readJoined } from '../../json/buffer-list.ts'
import { memberSteps } from '../../json/bytes.ts'
import { OPEN_OBJECT, QUOTE } from '../../json/characters.ts'
import type { Member } from '../../json/json.ts'
import type { Edit, Payload } from '../../json/payload.ts'
import { namingServer, removeReference, rewriteReferences } from '../../catalog/app-references.ts'
import type { CatalogServer } from '../../catalog/catalog.ts'
import { sentAddressOf } from '../../catalog/resource-uris.ts'
import { complete, type SlicedWork } from '../../lib/time-slice.ts'
import { badResponse } from '../../protocol/upstream-failure.ts'
import { readAnswer, readAnswerSteps } from '../../upstream/era-bridge.ts'
import type { UpstreamAnswer } from '../../upstream/transport/call.ts'
import { readBlocks } from './content-blocks.ts'
import { hasUriKey } from './resource-links.ts'

const toText = (latin1: string) => Buffer.from(latin1, 'latin1').toString()
const toLatin1 = (text: string) => Buffer.from(text).toString('latin1')

/** Text that may spell an address that must name its server. */
const ADDRESS = /(?:["\s]|\\[tnr])(?:ui|skill|towpath):|\\u00[4-7]/i
const LONGEST_ADDRESS = 16
const STEP_BYTES = 65_536

/** Returns true if the bytes from an offset, which are not read block by block, may spell such an address. */
function* maySpellAddress(bytes: Buffer, from: number): Generator<void, boolean> {
  for (let at = from; at < bytes.length; at += STEP_BYTES) {
    if (ADDRESS.test(bytes.toString('latin1', at, at + STEP_BYTES + LONGEST_ADDRESS))) return true
    yield
  }
  return false
}

/** Collects the changes of each member `uri` of a block or of its embedded resource. */
function* collectEdits(bytes: Buffer, found: readonly Member[], server: string, edits: Edit[]): Generator<void, void> {
  for (const { key, start, end } of found) {
    if (key === 'resource' && bytes[start] === OPEN_OBJECT)
      yield* collectEdits(bytes, yield* memberSteps(bytes, start), server, edits)
    if (key !== 'uri' || bytes[start] !== QUOTE) continue
    const uri = JSON.parse(bytes.toString('utf8', start, end)) as string
    const address = sentAddressOf(server, uri)
    if (address !== uri) edits.push({ start, end, text: toLatin1(JSON.stringify(address)) })
  }
}

/** Returns the changes of addresses in a result that could lead to another server, in the order of their offsets. */
function* editsOf(bytes: Buffer, found: readonly Member[], server: string): Generator<void, Edit[]> {
  const edits: Edit[] = []
  const unread = yield* readBlocks(bytes, found, (block) => collectEdits(bytes, block, server, edits))
  if (unread !== undefined && (yield* maySpellAddress(bytes, unread)))
    throw badResponse('has too many content blocks with addresses')
  // a message may have an address itself, behind that of its content
  return edits.sort((one, other) => one.start - other.start)
}

/** Replaces the addresses that could lead to another server in the content blocks of a result, in steps. */
function* nameBlocks(body: Payload, server: CatalogServer): Generator<void, Payload> {
  const edits = yield* readJoined(body.buffers, (bytes) => editsOf(bytes, body.ownMembers, server.name))
  return edits.length === 0 ? body : body.withEdits(edits)
}

const mayHaveReferences = (meta: string) => /resourceUri|outputTemplate|\\u/.test(meta)

/** Replaces or removes the references to interfaces in the `_meta` of a result. */
function nameReferences(body: Payload, { name, stored }: CatalogServer): Payload {
  const meta = body.valueOf('_meta')
  if (meta === undefined || !mayHaveReferences(meta)) return body
  const text = toText(meta)
  const { start, end } = body.ownMembers.findLast(({ key }) => key === '_meta')!
  const rewrite = stored.settings.apps === false ? removeReference : namingServer(name)
  const changed = rewriteReferences(text, rewrite)
  return changed === text ? body : body.withEdits([{ start, end, text: toLatin1(changed) }])
}

/** True if the content blocks of a result must be read to name its addresses. */
const mayHaveAddresses = (body: Payload, isBare: boolean, hasUris: boolean) =>
  !isBare && (hasUris || body.mayEscapeLetters)

/** Names the addresses in a result, one content block after the other. */
function* nameSteps(result: Payload, server: CatalogServer): Generator<void, Payload> {
  return nameReferences(yield* nameBlocks(result, server), server)
}

/**
 * Returns a result in which each address of an interface names its server (mcp-proxy.md#apps): in `_meta`, links and
 * embedded resources. Other results are the same object. `isBare`: addresses stay, and only the references of a server
 * whose apps are off are removed. `hasUris`: the outcome of `hasUriKey`, if known. Throws JsonError if the result is
 * malformed, and UpstreamFailure if it has too many blocks to inspect.
 */
export function nameAppsIn(
  result: Payload,
  server: CatalogServer,
  isBare = false,
  hasUris = !isBare && hasUriKey(result)
): Payload {
  if (mayHaveAddresses(result, isBare, hasUris)) return complete(nameSteps(result, server))
  return !isBare || server.stored.settings.apps === false ? nameReferences(result, server) : result
}

const withBody = (received: UpstreamAnswer, body: Payload): UpstreamAnswer =>
  body === received.answer.body ? received : { answer: { kind: 'result', body }, era: received.era }

/**
 * Returns the answer to a call of a tool or prompt in which each address of an interface names its server
 * (mcp-proxy.md#apps), as `nameAppsIn` describes; a promise if the answer is large, and named in slices. Other answers
 * are the same object. Throws or rejects with UpstreamFailure if the answer is malformed or has too many blocks to
 * inspect.
 */
export function nameApps(
  received: UpstreamAnswer,
  server: CatalogServer,
  slices: SlicedWork,
  isBare = false,
  hasUris = !isBare && hasUriKey(received.answer.body)
): UpstreamAnswer | Promise<UpstreamAnswer> {
  const { kind, body } = received.answer
  if (kind === 'error') return received
  const naming = mayHaveAddresses(body, isBare, hasUris)
    ? slices.tryRun(body.length, () => readAnswerSteps(nameSteps(body, server)))
    : undefined
  if (naming) return naming.then((named) => withBody(received, named))
  return withBody(
    received,
    readAnswer(() => nameAppsIn(body, server, isBare, hasUris))
  )
}
