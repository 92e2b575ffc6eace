import { eachElement, members, type Member } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'
import { namingServer, removeReference, rewriteReferences } from '../../catalog/app-references.ts'
import type { CatalogServer } from '../../catalog/catalog.ts'
import { sentAddressOf } from '../../catalog/resource-uris.ts'
import { complete, type SlicedWork } from '../../lib/time-slice.ts'
import { badResponse } from '../../protocol/upstream-failure.ts'
import { readAnswer, readAnswerSteps } from '../../upstream/era-bridge.ts'
import type { UpstreamAnswer } from '../../upstream/transport/call.ts'
import { hasUriKey } from './resource-links.ts'

/** A value in latin1 JSON text and its replacement. */
interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Limit of inspected content blocks: each takes about a microsecond of blocking time. */
const MAX_BLOCKS = 10_000

const toText = (latin1: string) => Buffer.from(latin1, 'latin1').toString()
const toLatin1 = (text: string) => Buffer.from(text).toString('latin1')

/** Returns true if text that is not inspected block by block may spell an address that must name its server. */
const maySpellAddress = (text: string) => /(?:["\s]|\\[tnr])(?:ui|skill|towpath):|\\u00[4-7]/i.test(text)

/** Yields the edits of each member `uri` of a block or of its embedded resource. */
function* uriEdits(text: string, found: readonly Member[], server: string): Generator<Edit> {
  for (const { key, start, end } of found) {
    if (key === 'resource' && text[start] === '{') yield* uriEdits(text, members(text, start), server)
    if (key !== 'uri' || text[start] !== '"') continue
    const uri = JSON.parse(toText(text.slice(start, end))) as string
    const address = sentAddressOf(server, uri)
    if (address !== uri) yield { start, end, text: toLatin1(JSON.stringify(address)) }
  }
}

/** Yields the members of each content block of a tool result or of a prompt's messages. */
function* blocksOf(text: string, found: readonly Member[]): Generator<readonly Member[]> {
  let left = MAX_BLOCKS
  for (const list of found) {
    if ((list.key !== 'content' && list.key !== 'messages') || text[list.start] !== '[') continue
    for (const { start } of eachElement(text, list.start)) {
      if (left-- === 0) {
        if (maySpellAddress(text.slice(start))) throw badResponse('has too many content blocks with addresses')
        return
      }
      if (text[start] !== '{') continue
      const own = members(text, start)
      yield own
      if (list.key === 'content') continue
      for (const { key, start: at } of own) if (key === 'content' && text[at] === '{') yield members(text, at)
    }
  }
}

const applyEdits = (text: string, edits: readonly Edit[]) => {
  const parts: string[] = []
  let from = 0
  for (const edit of edits) {
    parts.push(text.slice(from, edit.start), edit.text)
    from = edit.end
  }
  return parts.join('') + text.slice(from)
}

/**
 * Replaces the addresses that could lead to another server in the content blocks of a result, one block after the other.
 */
function* nameBlocks(body: Payload, server: CatalogServer): Generator<void, Payload> {
  const text = body.latin1
  const edits: Edit[] = []
  for (const found of blocksOf(text, body.latin1Members)) {
    for (const edit of uriEdits(text, found, server.name)) edits.push(edit)
    yield
  }
  return edits.length === 0 ? body : Payload.ofLatin1(applyEdits(text, edits))
}

const mayHaveReferences = (meta: string) => /resourceUri|outputTemplate|\\u/.test(meta)

/** Replaces or removes the references to interfaces in the `_meta` of a result. */
function nameReferences(body: Payload, { name, stored }: CatalogServer): Payload {
  const meta = body.valueOf('_meta')
  if (meta === undefined || !mayHaveReferences(meta)) return body
  const text = toText(meta)
  const rewrite = stored.settings.apps === false ? removeReference : namingServer(name)
  const changed = rewriteReferences(text, rewrite)
  return changed === text ? body : body.withChanges({ _meta: toLatin1(changed) }, '')
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
