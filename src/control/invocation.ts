import { splitName } from '../domain/names.ts'
import { serverError } from '../domain/server-error.ts'
import { AppError, notFound, unauthorized } from '../lib/errors.ts'
import type { ItemKind } from '../registry/model/model.ts'
import { aliasedContents } from '../mcp/aliased-contents.ts'
import { createSlotSet, type SlotItem } from '../lib/slot-set.ts'
import { adaptResult, errorCode, errorMessage } from '../upstream/era-bridge.ts'
import type { Catalog, Item, CatalogServer } from '../catalog/catalog.ts'
import type { DataPlane } from '../mcp/request-context.ts'
import type { Gateway } from './gateway.ts'
import { members, valueOf, withMembers } from '../json/json.ts'
import { Observation, REST_ENDPOINT, type CallKind, type Observer } from '../observe/observation.ts'
import { paramHeaderPairs } from '../protocol/param-headers.ts'
import type { Payload } from '../json/payload.ts'
import { itemRecord, itemRecords } from './records.ts'
import { anyByUri, globalScope, type ResourceTarget } from '../catalog/scope.ts'
import { Call, countBytes, silentSink, type Answer, type OutgoingRequest } from '../upstream/transport/call.ts'
import { toAppError, UpstreamFailure, callerDisconnected } from '../protocol/upstream-failure.ts'
import { permissionWithdrawn } from '../mcp/withdrawal.ts'
import { traceMembers } from '../protocol/trace-context.ts'
import type { Caller, DisconnectSignal } from '../catalog/caller.ts'

export interface Invocation extends Pick<Gateway, 'list' | 'find' | 'invoke' | 'render' | 'read' | 'hasToolProperty'> {
  /** Stops the calls in progress of principals whose token was revoked or replaced. */
  endCalls(principals: ReadonlySet<string>): void
}

/** A REST call in progress. */
interface ActiveCall extends SlotItem {
  readonly principal: string
  readonly call: Call
}

const labels: Record<ItemKind, string> = {
  tool: 'tool',
  prompt: 'prompt',
  resource: 'resource',
  template: 'resource template'
}

const methodOf = { tool: 'tools/call', prompt: 'prompts/get' } as const

const disabled = (kind: string, name: string) => new AppError(409, `${kind} "${name}" is disabled`)

/** Error codes for a missing resource: -32602 since 2026-07-28, -32002 before. */
const noSuchResource = new Set<unknown>([-32002, -32602])

function refusalOf({ name }: CatalogServer, { method }: OutgoingRequest, answer: Answer): AppError {
  const isMissing = method === 'resources/read' && noSuchResource.has(errorCode(answer))
  return new AppError(isMissing ? 404 : 502, serverError(name, errorMessage(answer)))
}

/** A request and its target server. */
interface PreparedCall {
  readonly server: CatalogServer
  readonly request: OutgoingRequest
}

const revoked = new UpstreamFailure('cancelled', 'the access token is no longer valid')

/** Converts a call's error to the error that the caller gets. */
function callerError(error: unknown, call: Call | undefined, server: CatalogServer | undefined): unknown {
  if (call?.stopped === revoked) return unauthorized(revoked.message)
  if (call?.stopped === permissionWithdrawn)
    return new AppError(409, permissionWithdrawn.message, { cause: permissionWithdrawn })
  return error instanceof UpstreamFailure && server ? toAppError(error, server.name) : error
}

/** Throws a 404 AppError for an unknown name. */
function findNamed(catalog: Catalog, kind: 'tool' | 'prompt', name: string): Item {
  const split = splitName(name)
  const item = split && catalog.server(split.server)?.find(kind, split.name)
  if (!item) throw notFound(labels[kind], name)
  return item
}

/** Throws a 409 AppError if the item cannot be used. */
function checkEnabled(item: Item, name: string): void {
  if (item.enabled) return
  if (item.problem !== undefined)
    throw new AppError(409, `${labels[item.kind]} "${name}" cannot be used: ${item.problem.reason}`)
  throw item.server.enabled ? disabled(labels[item.kind], name) : disabled('server', item.server.name)
}

/** Returns the enabled resource of a URI. Throws a 404 or 409 AppError if there is none. */
function resolveResource(catalog: Catalog, uri: string): ResourceTarget {
  const target = globalScope(catalog).resolve(uri)
  if (target) return target
  const item = anyByUri(catalog, 'resource', uri)
  if (!item) throw notFound('resource', uri)
  throw item.server.enabled ? disabled('resource', uri) : disabled('server', item.server.name)
}

/**
 * Creates the REST operations on tools, prompts and resources (http-contract.md#tool-invocation,
 * http-contract.md#prompt-record).
 */
export function createInvocation(catalog: () => Catalog, core: DataPlane, observer: Observer): Invocation {
  const running = createSlotSet<ActiveCall>()
  /**
   * Runs one call and reports it to the observer, also if it fails. `prepare` resolves the target, or throws the error
   * that the caller gets. One function, since each additional promise is a measurable part of a call's cost.
   */
  const run = async (
    kind: CallKind,
    caller: Caller,
    name: string,
    signal: DisconnectSignal,
    prepare: (observation: Observation) => PreparedCall
  ): Promise<Payload> => {
    const { requestId, key: principal } = caller
    const observation = new Observation(observer, kind, { caller, endpoint: REST_ENDPOINT, via: 'rest', requestId })
    observation.setTarget(undefined, name)
    let active: ActiveCall | undefined
    let server: CatalogServer | undefined
    try {
      const prepared = prepare(observation)
      const { request } = prepared
      server = prepared.server
      const { method } = request
      const trace = observation.startSpan(caller.trace)
      const meta = trace && observer.tracer ? traceMembers(trace) : ''
      const call = new Call(trace ? { ...request, meta, trace } : request, silentSink)
      call.countedBytes = countBytes(request.members.length)
      call.observation = observation
      observation.params = request.members
      if (signal.isDisconnected) throw callerDisconnected()
      signal.onDisconnect = () => call.stop(callerDisconnected())
      active = { principal, call, slot: -1 }
      running.add(active)
      const { answer, era } = await core.forward(server, call, { era: 'modern', owner: principal, principal })
      if (answer.kind === 'error') {
        observation.end('failed', errorMessage(answer))
        throw refusalOf(server, request, answer)
      }
      const adaptation = { method, from: era, to: 'legacy', server: server.name, serverInfo: '{}' } as const
      const result = adaptResult(answer.body, adaptation)
      observation.complete(answer.body)
      return result
    } catch (error) {
      const failure = callerError(error, active?.call, server)
      observation.fail(failure)
      throw failure
    } finally {
      signal.onDisconnect = null
      if (active) running.delete(active)
    }
  }
  const runNamed = (
    kind: 'tool' | 'prompt',
    caller: Caller,
    name: string,
    args: string | undefined,
    signal: DisconnectSignal
  ): Promise<Payload> =>
    run(kind, caller, name, signal, (observation) => {
      const item = findNamed(catalog(), kind, name)
      const { server } = item
      observation.setTarget(server.name, item.alias)
      checkEnabled(item, name)
      const members = `"name":${JSON.stringify(item.name)}${args === undefined ? '' : `,"arguments":${args}`}`
      const headers =
        item.paramHeaders.headers.length > 0 ? paramHeaderPairs(item.paramHeaders, JSON.parse(args ?? '{}')) : []
      return { server, request: { method: methodOf[kind], members, meta: '', name: item.name, headers } }
    })

  return {
    list(_caller, kind, name) {
      const only = name === undefined ? undefined : catalog().server(name)
      if (name !== undefined && !only) throw notFound('server', name)
      return itemRecords(catalog(), kind, only)
    },
    find(_caller, kind, name) {
      const current = catalog()
      const item = kind === 'tool' || kind === 'prompt' ? findNamed(current, kind, name) : anyByUri(current, kind, name)
      if (!item) throw notFound(labels[kind], name)
      return itemRecord(current, item)
    },
    invoke: async (caller, name, args, signal) => (await runNamed('tool', caller, name, args ?? '{}', signal)).bytes,
    async render(caller, name, args, signal) {
      const result = await runNamed('prompt', caller, name, JSON.stringify(args), signal)
      return renamedMeta(result.toString())
    },
    async read(caller, uri, signal) {
      let target: ResourceTarget | undefined
      const result = await run('resource', caller, uri, signal, (observation) => {
        target = resolveResource(catalog(), uri)
        const { server, uri: own } = target
        observation.setTarget(server.name, own)
        const members = `"uri":${JSON.stringify(own)}`
        return { server, request: { method: 'resources/read', members, meta: '', name: own } }
      })
      return (target?.isAlias ? aliasedContents(result, target) : result).bytes
    },
    endCalls(principals) {
      for (const { principal, call } of running) if (principals.has(principal)) call.stop(revoked)
    },
    hasToolProperty(name, property) {
      const { definition } = findNamed(catalog(), 'tool', name).stored
      const schema = JSON.parse(definition) as { inputSchema?: { properties?: object } }
      return Object.hasOwn(schema.inputSchema?.properties ?? {}, property)
    }
  }
}

/** Renames `_meta` of a rendered prompt to `meta` (http-contract.md#prompt-record). */
function renamedMeta(text: string): string {
  const meta = valueOf(text, members(text), '_meta')
  if (meta === undefined) return text
  const rest = withMembers(text, { _meta: null }).slice(1, -1)
  return `{${rest === '' ? '' : `${rest},`}"meta":${meta}}`
}
