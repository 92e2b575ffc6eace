import { META } from '../domain/mcp-constants.ts'
import type { ItemKind, Negotiation } from '../registry/model/model.ts'
import { members, valueOf, withMembers } from '../json/json.ts'
import { aliasedContents } from './aliased-contents.ts'
import { errorCode } from '../upstream/era-bridge.ts'
import type { Item, CatalogServer } from '../catalog/catalog.ts'
import type { CallSurface } from '../upstream/client-calls.ts'
import { chooseEra } from '../upstream/upstream.ts'
import { mismatchedHeader, otherParamHeaders, paramHeaderPairs } from '../protocol/param-headers.ts'
import type { CallKind, InboundCall, Observation } from '../observe/observation.ts'
import type { Payload } from '../json/payload.ts'
import type { ResourceTarget } from '../catalog/scope.ts'
import { hasMethod, noteMethod, type TriedMethod } from '../catalog/undeclared-methods.ts'
import type { Answer } from '../upstream/transport/call.ts'
import type { RequestContext } from './request-context.ts'
import { decodeHeader, headerMismatch } from './messages/era.ts'
import { forward, sendFailure, type McpTarget } from './forward.ts'
import { codes, paramsFragment, ProtocolError, refuseLookalikes } from '../protocol/jsonrpc.ts'
import { listMembers, listPage } from './messages/list-page.ts'
import { invalidState } from './input/input-required-store.ts'

/** Handles one request. Throws ProtocolError if the request is invalid. */
export type Method = (context: RequestContext) => Promise<void> | void

/**
 * Error of a method. The HTTP status is 200 because the message itself was valid (mcp-proxy.md#legacy-wire,
 * mcp-proxy.md#modern-wire).
 */
const refuse = ({ message }: RequestContext, text: string, data?: unknown, code: number = codes.invalidParams) =>
  new ProtocolError(code, text, { status: 200, id: message.id, data })

function unknownItem(context: RequestContext, kind: 'tool' | 'prompt' | 'resource', name: string, data?: unknown) {
  context.mcp.dataPlane.refusals.auditOutOfScope(context, kind, name)
  return refuse(context, `Unknown ${kind}: ${name}`, data)
}

function stringParam(context: RequestContext, name: string): string {
  const value = context.message.param(name)
  if (typeof value !== 'string') throw refuse(context, `Invalid params: "${name}" must be a string`)
  return value
}

/** Members that every modern result carries: `resultType` and the gateway's `serverInfo`. */
const resultMeta = ({ era, mcp }: RequestContext, extra: string): string =>
  era === 'modern' ? `"resultType":"complete"${extra},"_meta":{"${META}serverInfo":${mcp.serverInfo}}` : ''

/** Sends a result that the gateway itself produces. */
export function sendResult(context: RequestContext, members: string, extra = ''): void {
  const { reply, message } = context
  const meta = resultMeta(context, extra)
  reply.sendResult(message.id, Buffer.from(`{${members}${members !== '' && meta !== '' ? ',' : ''}${meta}}`))
}

/** Cache hints that forbid caching: lists differ by caller and can change at any time (mcp-proxy.md#cache-hints). */
export const noCacheHints = ',"ttlMs":0,"cacheScope":"private"'

const listMethod =
  (kind: ItemKind): Method =>
  (context) => {
    const { scope, message, mcp, endpoint, reply } = context
    mcp.observer.onList(kind)
    const cursor = message.param('cursor')
    const { version } = scope.catalog
    // cursors are bound to their endpoint: the same index means another item elsewhere
    const place = `${kind} ${endpoint}`
    const index =
      cursor === undefined || cursor === ''
        ? 0
        : typeof cursor === 'string'
          ? mcp.cursors.decode(cursor, place, version)
          : undefined
    if (index === undefined) throw refuse(context, 'Invalid cursor')
    const { bytes, next } = listPage(scope, kind, index)
    const nextCursor = next === undefined ? '' : `"nextCursor":"${mcp.cursors.encode(place, version, next)}",`
    const meta = resultMeta(context, noCacheHints)
    const before = `{${nextCursor}"${listMembers[kind]}":[`
    // scheduled like upstream responses: lists requested together are cheaper to send together
    const turn = new Promise<void>(mcp.schedule)
    return turn.then(() => reply.sendList(message.id, before, bytes, meta === '' ? ']}' : `],${meta}}`))
  }

function describe({ mcp, caller, endpoint, era: via, requestId, session, message }: RequestContext): InboundCall {
  const client = session ? session.client : mcp.clientInfoCache.client(message).name
  return { caller, endpoint, via, requestId, client, clientVersion: session?.version }
}

/** Finds the target of a call; undefined if it has answered the client. Throws ProtocolError. */
type Resolve = (context: RequestContext, observation: Observation) => McpTarget | undefined

/** Returns the method that calls the item that `resolve` finds. */
function callMethod(kind: CallKind, resolve: Resolve): Method {
  const surface: CallSurface<RequestContext, McpTarget, void> = {
    kind,
    describe,
    resolve,
    exchange: forward,
    fail: sendFailure
  }
  return (context) => context.mcp.calls.run(surface, context)
}

const noHeaders: readonly string[] = []
const inputRoundChanges = { inputResponses: null, requestState: null }

/**
 * Removes the input-round members if the upstream speaks the legacy protocol, which has no input rounds
 * (mcp-proxy.md#asking-the-client). A `requestState` not signed by this gateway is invalid there.
 */
function inputRoundChangesOf({ era, mcp, message }: RequestContext, { stored }: CatalogServer) {
  if (era === 'legacy' || !stored.negotiation || chooseEra(stored.negotiation, stored, era) === 'modern')
    return undefined
  const requestState = message.param('requestState')
  if (requestState !== undefined && !mcp.inputRequiredStore.isOwnState(requestState)) throw invalidState(message)
  return inputRoundChanges
}

const resolveItem =
  (kind: 'tool' | 'prompt'): Resolve =>
  (context, observation) => {
    const { message, scope } = context
    const publicName = stringParam(context, 'name')
    const item = scope.find(kind, publicName)
    observation.setTarget(item?.server.name, item?.alias ?? publicName)
    if (!item) throw unknownItem(context, kind, publicName)
    if (message.has('arguments') && !message.isObject('arguments')) {
      throw refuse(context, 'Invalid params: "arguments" must be an object')
    }
    const { name, server } = item
    const round = inputRoundChangesOf(context, server)
    const own = { name: JSON.stringify(name) }
    const members = paramsFragment(message, round ? { ...own, ...round } : own)
    return { server, members, name, headers: paramHeaders(context, item) }
  }

/**
 * Checks the parameter headers of a modern request and returns the headers to send upstream
 * (mcp-proxy.md#parameter-headers).
 */
function paramHeaders({ era, message, headers }: RequestContext, { paramHeaders: params }: Item): readonly string[] {
  if (params.headers.length === 0) return era === 'legacy' ? noHeaders : otherParamHeaders(params, headers)
  const args = message.param('arguments')
  if (era === 'legacy') return paramHeaderPairs(params, args)
  const wrong = mismatchedHeader(params, args, headers, decodeHeader)
  if (wrong) throw headerMismatch(message.id, wrong.header, wrong.given, wrong.body)
  return [...paramHeaderPairs(params, args), ...otherParamHeaders(params, headers)]
}

const resolveResource: Resolve = (context, observation) => {
  const { message, scope, era, mcp, caller } = context
  const requestedUri = stringParam(context, 'uri')
  const target = scope.resolve(requestedUri, true, mcp.resourceLinks.find(caller.key, requestedUri))
  observation.setTarget(target?.server.name, target?.uri ?? requestedUri)
  if (!target) {
    context.mcp.dataPlane.refusals.auditOutOfScope(context, 'resource', requestedUri)
    const code = era === 'modern' ? codes.invalidParams : codes.legacyResourceNotFound
    throw refuse(context, `Resource not found: ${requestedUri}`, { uri: requestedUri }, code)
  }
  const { server, uri, isAlias } = target
  const members = paramsFragment(message, { uri: JSON.stringify(uri), ...inputRoundChangesOf(context, server) })
  const rewrite = isAlias ? (result: Payload) => aliasedContents(result, target) : undefined
  return { server, members, name: uri, rewrite }
}

/**
 * Returns true if a method that the server does not declare is worth trying: on a legacy connection, unless it was
 * rejected before.
 */
const mayTryUndeclared = (
  { era }: RequestContext,
  { stored }: CatalogServer,
  negotiation: Negotiation,
  method: TriedMethod
) => chooseEra(negotiation, stored, era) === 'legacy' && hasMethod(negotiation, method) !== false

const noCompletion = '"completion":{"values":[],"total":0,"hasMore":false}'

interface Reference {
  readonly server: ResourceTarget['server']
  /** Member of `ref` that identifies the item; `value` is its name or URI on the upstream. */
  readonly key: 'name' | 'uri'
  readonly value: string
}

function findReference(context: RequestContext): Reference {
  const { params } = context.message
  const ref = (params['ref'] ?? {}) as { type?: unknown; name?: unknown; uri?: unknown }
  if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
    const item = context.scope.find('prompt', ref.name)
    if (!item) throw unknownItem(context, 'prompt', ref.name)
    return { server: item.server, key: 'name', value: item.name }
  }
  if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
    // completions of the wrong server would look plausible, so the server is never guessed
    const target = context.scope.resolveTemplate(ref.uri) ?? context.scope.resolve(ref.uri, false)
    if (!target) throw unknownItem(context, 'resource', ref.uri, { uri: ref.uri })
    return { server: target.server, key: 'uri', value: target.uri }
  }
  throw refuse(context, 'Invalid params: "ref" must name a prompt or a resource')
}

const resolveReference: Resolve = (context, observation) => {
  const { message } = context
  const { server, key, value } = findReference(context)
  const ref = valueOf(message.text, message.paramMembers, 'ref') ?? '{}'
  refuseLookalikes(members(ref), message.id)
  observation.setTarget(server.name, value)
  const { negotiation } = server.stored
  const isDeclared = negotiation?.capabilities['completions'] !== undefined
  if (!negotiation || !(isDeclared || mayTryUndeclared(context, server, negotiation, 'completion/complete'))) {
    sendResult(context, noCompletion)
    return undefined
  }
  const onError = (answer: Answer) => {
    if (isDeclared || errorCode(answer) !== codes.methodNotFound) return false
    noteMethod(negotiation, 'completion/complete', false)
    sendResult(context, noCompletion)
    return true
  }
  const changed = withMembers(ref, { [key]: JSON.stringify(value) })
  return { server, members: paramsFragment(message, { ref: changed }), onError }
}

/** Methods common to both eras. */
export const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['tools/list', listMethod('tool')],
  ['prompts/list', listMethod('prompt')],
  ['resources/list', listMethod('resource')],
  ['resources/templates/list', listMethod('template')],
  ['tools/call', callMethod('tool', resolveItem('tool'))],
  ['prompts/get', callMethod('prompt', resolveItem('prompt'))],
  ['resources/read', callMethod('resource', resolveResource)],
  ['completion/complete', callMethod('completion', resolveReference)]
])
