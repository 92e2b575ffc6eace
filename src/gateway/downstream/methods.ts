import { META } from '../../domain/protocol.ts'
import type { ItemKind, Verdict } from '../../registry/model.ts'
import { members, valueOf, withMembers } from '../json.ts'
import { aliasedContents } from '../aliased-contents.ts'
import { errorCode } from '../bridge.ts'
import type { Item, ServerBlock } from '../catalog.ts'
import { chooseEra } from '../upstream/upstream.ts'
import { mismatchedHeader, otherParamHeaders, paramHeaderPairs } from '../param-headers.ts'
import { Observation, type CallKind } from '../observation.ts'
import type { Payload } from '../payload.ts'
import type { ResourceTarget } from '../scope.ts'
import { hasMethod, noteMethod, type TriedMethod } from '../tried-methods.ts'
import type { Answer } from '../upstream/call.ts'
import type { Exchange } from './exchange.ts'
import { decodeHeader, mismatch } from './era.ts'
import { forward } from './forward.ts'
import { codes, paramsFragment, ProtocolError, refuseLookalikes } from './jsonrpc.ts'
import { listMembers, listPage } from './list-page.ts'
import { invalidState } from './park.ts'

/** Answers one request. Throws ProtocolError for what is wrong with it. */
export type Method = (exchange: Exchange) => Promise<void> | void

/**
 * An error of a method: the request was understood, so HTTP says 200 (mcp-proxy.md#legacy-wire,
 * mcp-proxy.md#modern-wire).
 */
const refuse = ({ message }: Exchange, text: string, data?: unknown, code: number = codes.invalidParams) =>
  new ProtocolError(code, text, { status: 200, id: message.id, data })

function unknown(exchange: Exchange, kind: 'tool' | 'prompt' | 'resource', name: string, data?: unknown) {
  exchange.edge.core.refusals.auditOutOfScope(exchange, kind, name)
  return refuse(exchange, `Unknown ${kind}: ${name}`, data)
}

function stringParam(exchange: Exchange, name: string): string {
  const value = exchange.message.param(name)
  if (typeof value !== 'string') throw refuse(exchange, `Invalid params: "${name}" must be a string`)
  return value
}

/** What modern results say besides: that they are complete, and whose they are. */
const stampOf = ({ era, edge }: Exchange, extra: string): string =>
  era === 'modern' ? `"resultType":"complete"${extra},"_meta":{"${META}serverInfo":${edge.serverInfo}}` : ''

/** Sends a result of our own making. */
export function sendResult(exchange: Exchange, members: string, extra = ''): void {
  const { reply, message } = exchange
  const stamp = stampOf(exchange, extra)
  reply.result(message.id, Buffer.from(`{${members}${members !== '' && stamp !== '' ? ',' : ''}${stamp}}`))
}

/** Lists may differ by caller and change at any time, so nobody may keep them (mcp-proxy.md#cache-hints). */
export const uncached = ',"ttlMs":0,"cacheScope":"private"'

const list =
  (kind: ItemKind): Method =>
  (exchange) => {
    const { scope, message, edge, endpoint, reply } = exchange
    edge.observer.onList(kind)
    const cursor = message.param('cursor')
    const { version } = scope.catalog
    // a cursor is good at its own endpoint only: the same index elsewhere is another item
    const place = `${kind} ${endpoint}`
    const index =
      cursor === undefined || cursor === ''
        ? 0
        : typeof cursor === 'string'
          ? edge.cursors.decode(cursor, place, version)
          : undefined
    if (index === undefined) throw refuse(exchange, 'Invalid cursor')
    const { bytes, next } = listPage(scope, kind, index)
    const nextCursor = next === undefined ? '' : `"nextCursor":"${edge.cursors.encode(place, version, next)}",`
    const stamp = stampOf(exchange, uncached)
    const before = `{${nextCursor}"${listMembers[kind]}":[`
    // as answers of upstreams are: lists that are asked for together are cheaper to send together
    const turn = new Promise<void>(edge.schedule)
    return turn.then(() => reply.list(message.id, before, bytes, stamp === '' ? ']}' : `],${stamp}}`))
  }

/** What servers are asked for is told, what becomes of it before that included. */
const observed =
  (kind: CallKind, method: Method): Method =>
  (exchange) => {
    const { edge, caller, endpoint, era: via, requestId, session, message } = exchange
    const client = session ? session.client : edge.introductions.client(message).name
    const clientVersion = session?.version
    const observation = new Observation(edge.observer, kind, {
      caller,
      endpoint,
      via,
      requestId,
      client,
      clientVersion
    })
    exchange.observation = observation
    try {
      return method(exchange)
    } catch (error) {
      observation.fail(error)
      throw error
    }
  }

const none: readonly string[] = []
const roundMembers = { inputResponses: null, requestState: null }

/**
 * What a modern caller brings back from a round means nothing on a legacy wire: that round was ours
 * (mcp-proxy.md#asking-the-client). A state
 * that we have not signed is of no round at all.
 */
function roundOf({ era, edge, message }: Exchange, { stored }: ServerBlock) {
  if (era === 'legacy' || !stored.verdict || chooseEra(stored.verdict, stored, era) === 'modern') return undefined
  const requestState = message.param('requestState')
  if (requestState !== undefined && !edge.parks.isOurs(requestState)) throw invalidState(message)
  return roundMembers
}

const useItem =
  (kind: 'tool' | 'prompt'): Method =>
  (exchange) => {
    const { message, scope } = exchange
    const publicName = stringParam(exchange, 'name')
    const item = scope.find(kind, publicName)
    exchange.observation?.setTarget(item?.server.name, item?.alias ?? publicName)
    if (!item) throw unknown(exchange, kind, publicName)
    if (message.has('arguments') && !message.isObject('arguments')) {
      throw refuse(exchange, 'Invalid params: "arguments" must be an object')
    }
    const { name, server } = item
    const round = roundOf(exchange, server)
    const own = { name: JSON.stringify(name) }
    const members = paramsFragment(message, round ? { ...own, ...round } : own)
    return forward(exchange, server, { members, name, headers: paramHeaders(exchange, item) })
  }

/**
 * Checks the headers in which a modern request repeats arguments; what goes upstream is made anew
 * (mcp-proxy.md#parameter-headers).
 */
function paramHeaders({ era, message, headers }: Exchange, { params }: Item): readonly string[] {
  if (params.headers.length === 0) return era === 'legacy' ? none : otherParamHeaders(params, headers)
  const args = message.param('arguments')
  if (era === 'legacy') return paramHeaderPairs(params, args)
  const wrong = mismatchedHeader(params, args, headers, decodeHeader)
  if (wrong) throw mismatch(message.id, wrong.header, wrong.given, wrong.body)
  return [...paramHeaderPairs(params, args), ...otherParamHeaders(params, headers)]
}

const readResource: Method = (exchange) => {
  const { message, scope, era, edge, caller } = exchange
  const asked = stringParam(exchange, 'uri')
  const target = scope.resolve(asked, true, edge.links.find(caller.key, asked))
  exchange.observation?.setTarget(target?.server.name, target?.uri ?? asked)
  if (!target) {
    exchange.edge.core.refusals.auditOutOfScope(exchange, 'resource', asked)
    const code = era === 'modern' ? codes.invalidParams : codes.legacyResourceNotFound
    throw refuse(exchange, `Resource not found: ${asked}`, { uri: asked }, code)
  }
  const { server, uri, isAlias } = target
  const params = {
    members: paramsFragment(message, { uri: JSON.stringify(uri), ...roundOf(exchange, server) }),
    name: uri
  }
  const rewrite = (result: Payload) => aliasedContents(result, target)
  return forward(exchange, server, params, isAlias ? { rewrite } : undefined)
}

/** Whether a method that the server does not declare is worth a try: on the legacy wire, where it has not been refused. */
const mayTry = ({ era }: Exchange, { stored }: ServerBlock, verdict: Verdict, method: TriedMethod) =>
  chooseEra(verdict, stored, era) === 'legacy' && hasMethod(verdict, method) !== false

const noCompletion = '"completion":{"values":[],"total":0,"hasMore":false}'

interface Reference {
  readonly server: ResourceTarget['server']
  /** Member of `ref` that names the thing, and its own value upstream. */
  readonly key: 'name' | 'uri'
  readonly value: string
}

function findReference(exchange: Exchange): Reference {
  const { params } = exchange.message
  const ref = (params['ref'] ?? {}) as { type?: unknown; name?: unknown; uri?: unknown }
  if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
    const item = exchange.scope.find('prompt', ref.name)
    if (!item) throw unknown(exchange, 'prompt', ref.name)
    return { server: item.server, key: 'name', value: item.name }
  }
  if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
    // values of a server that was only guessed would look right
    const target = exchange.scope.resolveTemplate(ref.uri) ?? exchange.scope.resolve(ref.uri, false)
    if (!target) throw unknown(exchange, 'resource', ref.uri, { uri: ref.uri })
    return { server: target.server, key: 'uri', value: target.uri }
  }
  throw refuse(exchange, 'Invalid params: "ref" must name a prompt or a resource')
}

const complete: Method = (exchange) => {
  const { message } = exchange
  const { server, key, value } = findReference(exchange)
  const ref = valueOf(message.text, message.paramMembers, 'ref') ?? '{}'
  refuseLookalikes(members(ref), message.id)
  exchange.observation?.setTarget(server.name, value)
  const { verdict } = server.stored
  const isDeclared = verdict?.capabilities['completions'] !== undefined
  if (!verdict || !(isDeclared || mayTry(exchange, server, verdict, 'completion/complete')))
    return sendResult(exchange, noCompletion)
  const onError = (answer: Answer) => {
    if (isDeclared || errorCode(answer) !== codes.methodNotFound) return false
    noteMethod(verdict, 'completion/complete', false)
    sendResult(exchange, noCompletion)
    return true
  }
  const changed = withMembers(ref, { [key]: JSON.stringify(value) })
  return forward(exchange, server, { members: paramsFragment(message, { ref: changed }) }, { onError })
}

/** What both eras ask for in the same words. */
export const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['tools/list', list('tool')],
  ['prompts/list', list('prompt')],
  ['resources/list', list('resource')],
  ['resources/templates/list', list('template')],
  ['tools/call', observed('tool', useItem('tool'))],
  ['prompts/get', observed('prompt', useItem('prompt'))],
  ['resources/read', observed('resource', readResource)],
  ['completion/complete', observed('completion', complete)]
])
