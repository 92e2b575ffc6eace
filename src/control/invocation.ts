import { DENIED_BY_POLICY, NEEDS_APPROVAL } from '../domain/error-codes.ts'
import { allowedByDefault, type CompiledRule, type Decision } from '../domain/policy/permit.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import { serverError } from '../domain/server-error.ts'
import { AppError, notFound, unauthorized, unavailable } from '../lib/errors.ts'
import { nameApps } from '../mcp/messages/app-addresses.ts'
import { namedContents } from '../mcp/messages/named-contents.ts'
import { createSlotSet, type SlotItem } from '../lib/slot-set.ts'
import type { SlicedWork } from '../lib/time-slice.ts'
import { createCall, recordAnswer } from '../upstream/client-calls.ts'
import type { AlwaysResolves, CallRequest, CallSurface, CallTarget, ClientCalls } from '../upstream/client-calls.ts'
import { errorCode, errorMessage, readAnswer } from '../upstream/era-bridge.ts'
import type { Catalog, Item, CatalogServer } from '../catalog/catalog.ts'
import { members, valueOf, withMembers } from '../json/json.ts'
import { REST_ENDPOINT, type InboundCall, type Observation } from '../observe/observation.ts'
import { paramHeaderPairs } from '../protocol/param-headers.ts'
import type { Payload } from '../json/payload.ts'
import { viewFor, type RestView } from './rest-view.ts'
import { findNamed, labels } from './items.ts'
import { anyByUri } from '../catalog/item-lookup.ts'
import { resourceOf, type ResourceTarget } from '../catalog/resource-resolution.ts'
import { silentSink, type Answer, type Call } from '../upstream/transport/call.ts'
import { toAppError, UpstreamFailure, callerDisconnected } from '../protocol/upstream-failure.ts'
import type { ApprovalGate, Ask } from '../mcp/approvals/approval-gate.ts'
import type { McpRefusals } from '../mcp/mcp-refusals.ts'
import type { PolicyGate, PolicyRequest } from '../mcp/policy-gate.ts'
import { permissionWithdrawn } from '../mcp/withdrawal.ts'
import { isAdministrator } from '../domain/access/access.ts'
import type { Caller, DisconnectSignal } from '../catalog/caller.ts'

/** Calls over REST. Methods throw or reject with AppError; their JSON texts can be sent unchanged. */
export interface RestCalls {
  /**
   * Calls a tool (http-contract.md#tool-invocation). `args`: JSON text of the arguments object, if given.
   * Resolves with the JSON text of the result.
   */
  invoke(caller: Caller, name: string, args: string | undefined, signal: DisconnectSignal): Promise<Buffer | string>
  /** Renders a prompt (http-contract.md#prompt-record); resolves with JSON text `{description?, messages, meta?}`. */
  render(caller: Caller, name: string, args: Record<string, string>, signal: DisconnectSignal): Promise<Buffer | string>
  /** Reads a resource; resolves with JSON text `{contents: […]}`. */
  read(caller: Caller, uri: string, signal: DisconnectSignal): Promise<Buffer | string>
}

export interface Invocation extends RestCalls {
  /** Stops the calls in progress of principals whose token was revoked or replaced. */
  endCalls(principals: ReadonlySet<string>): void
}

/** A request for a call over REST. */
interface RestCall extends CallRequest, SlotItem {
  readonly caller: Caller
  /** Qualified name of the tool or prompt, or URI of the resource. */
  readonly name: string
  /** JSON text of the arguments. */
  readonly args: string | undefined
  readonly signal: DisconnectSignal
  /** Null until the call is sent. */
  call: Call | null
}

interface RestTarget extends CallTarget {
  readonly method: string
  /** Set if the call may run only after a yes; absent otherwise. */
  readonly ask?: Ask
  /** Returns the REST answer, JSON text, from the server's result. */
  readonly present: (result: Payload) => Buffer | string
}

type RestKind = 'tool' | 'prompt' | 'resource'
type ResolveParts = [view: RestView, check: CheckPolicies, request: RestCall, observation: Observation]
type RestSurface = CallSurface<RestCall, RestTarget, Buffer | string> & AlwaysResolves<RestCall, RestTarget>

const methodOf = { tool: 'tools/call', prompt: 'prompts/get' } as const

const disabled = (kind: string, name: string) => new AppError(409, `${kind} "${name}" is disabled`)

/** Error codes for a missing resource: -32602 since 2026-07-28, -32002 before. */
const noSuchResource = new Set<unknown>([-32002, -32602])

function refusalOf({ server, method }: RestTarget, answer: Answer): AppError {
  const isMissing = method === 'resources/read' && noSuchResource.has(errorCode(answer))
  return new AppError(isMissing ? 404 : 502, serverError(server.name, errorMessage(answer)))
}

const revoked = new UpstreamFailure('cancelled', 'the access token is no longer valid')

/** Converts the error of a call that was created to the error that its caller gets. */
function callerError(error: unknown, { call, caller }: RestCall, server: CatalogServer): unknown {
  if (call!.stopped === revoked) return unauthorized(revoked.message)
  if (call!.stopped === permissionWithdrawn)
    return new AppError(409, permissionWithdrawn.message, { cause: permissionWithdrawn })
  return error instanceof UpstreamFailure
    ? toAppError(error, server.name, { withOutput: isAdministrator(caller) })
    : error
}

/** Throws a 409 AppError if the item cannot be used. */
function checkEnabled(item: Item, name: string): void {
  if (item.enabled) return
  if (item.problem !== undefined)
    throw new AppError(409, `${labels[item.kind]} "${name}" cannot be used: ${item.problem.reason}`)
  throw item.server.enabled ? disabled(labels[item.kind], name) : disabled('server', item.server.name)
}

/** Returns the enabled resource of a URI. Throws a 404 or 409 AppError if there is none. */
function resolveResource({ catalog, scope, sees }: RestView, uri: string): ResourceTarget {
  const target = scope.resolve(uri)
  if (target) return target
  const item = anyByUri(catalog, 'resource', uri, scope, sees)
  // an interface whose own URI does not show its server is only found by the address that does
  if (!item || item.enabled) throw notFound('resource', uri)
  throw item.server.enabled ? disabled('resource', uri) : disabled('server', item.server.name)
}

const describe = ({ caller }: RestCall): InboundCall => ({
  caller,
  endpoint: REST_ENDPOINT,
  via: 'rest',
  requestId: caller.requestId
})

const bytesOf = (result: Payload) => result.bytes
const promptOf = (result: Payload) => renamedMeta(result.toString())

/** Returns the rule whose yes a call needs, if any; throws a 403 AppError if the caller's policies refuse it. */
type CheckPolicies = (
  item: PolicyItem,
  server: CatalogServer,
  decision: Decision,
  args: string | undefined
) => CompiledRule | undefined

/** Finds an enabled tool or prompt. */
function resolveNamed(
  view: RestView,
  check: CheckPolicies,
  kind: 'tool' | 'prompt',
  { name, args }: RestCall,
  observation: Observation
): RestTarget {
  const item = findNamed(view, kind, name)
  const { server } = item
  observation.setTarget(server.name, item.alias)
  checkEnabled(item, name)
  const rule = check(item, server, view.permit.decide(item), args)
  const members = `"name":${JSON.stringify(item.name)}${args === undefined ? '' : `,"arguments":${args}`}`
  const headers =
    item.paramHeaders.headers.length > 0 ? paramHeaderPairs(item.paramHeaders, JSON.parse(args ?? '{}')) : []
  const present = kind === 'tool' ? bytesOf : promptOf
  const target = { server, method: methodOf[kind], members, name: item.name, headers, present }
  return rule ? { ...target, ask: { rule, item, args } } : target
}

/** Finds an enabled resource. */
function resolveUri(view: RestView, check: CheckPolicies, { name }: RestCall, observation: Observation): RestTarget {
  const target = resolveResource(view, name)
  const { server, uri } = target
  observation.setTarget(server.name, uri)
  const item = resourceOf(view.catalog, server.name, uri)
  check(item, server, view.permit.decide(item), undefined)
  const present = (result: Payload) => readAnswer(() => namedContents(result, target)).bytes
  return { server, method: 'resources/read', members: `"uri":${JSON.stringify(uri)}`, name: uri, present }
}

export interface InvocationOptions {
  readonly catalog: () => Catalog
  readonly calls: ClientCalls
  readonly policies: PolicyGate
  readonly approvals: ApprovalGate
  /** Returns a function that removes a server's secrets from a text. */
  readonly redactorOf: (server: CatalogServer) => (text: string) => string
  readonly refusals: Pick<McpRefusals, 'auditOutOfScope'>
  readonly slices: SlicedWork
}

const policyRequest = (caller: Caller): PolicyRequest => {
  const { address, requestId } = caller
  return { caller, endpoint: REST_ENDPOINT, address, requestId }
}

/**
 * Resolves if somebody has said yes to a call. Rejects with the 409 AppError that tells what is waited for, or with 503 if
 * the database cannot be asked: the call is then waited for by nobody.
 */
async function requireYes(approvals: ApprovalGate, caller: Caller, ask: Ask): Promise<void> {
  const answer = await approvals.admit(policyRequest(caller), ask)
  if (answer.kind === 'run') return
  if (answer.kind === 'refused' && answer.isTransient) throw unavailable(answer.text)
  const approval = answer.approval && {
    id: answer.approval.id,
    status: answer.approval.status,
    expires_at: answer.approval.expiresAt.toISOString()
  }
  const text = answer.kind === 'refused' ? answer.text : 'not run: the call waits for an approval'
  throw new AppError(409, text, { code: NEEDS_APPROVAL, details: { ...(approval && { approval }) } })
}

/** Returns the function that throws the 403 of a call that policies refuse. */
const checkOf =
  ({ policies, redactorOf }: InvocationOptions, { caller, observation }: RestCall): CheckPolicies =>
  (item, server, decision, args) => {
    const outcome =
      decision === allowedByDefault ? undefined : policies.outcomeOf(policyRequest(caller), item, decision, args)
    if (!outcome?.denial) return outcome?.ask
    const { denial } = outcome
    observation?.keepRefused(args, (text) => redactorOf(server)(text))
    const { reason, policy, decision: id, scopes } = denial
    const details = { policy, decision: id, ...(scopes && { scopes }) }
    throw new AppError(403, reason, { code: DENIED_BY_POLICY, details })
  }

/**
 * Creates the REST operations on tools, prompts and resources (http-contract.md#tool-invocation,
 * http-contract.md#prompt-record).
 */
export function createInvocation(options: InvocationOptions): Invocation {
  const { catalog, calls, refusals, slices } = options
  const running = createSlotSet<RestCall>()
  const exchange = async (request: RestCall, target: RestTarget): Promise<Buffer | string> => {
    const { caller, signal } = request
    const { key: principal } = caller
    const { server, method, members } = target
    if (target.ask) await requireYes(options.approvals, caller, target.ask)
    const observation = request.observation!
    const outgoing = calls.prepare(observation, method, target, '', caller.trace)
    const call = createCall(outgoing, silentSink, observation, members.length)
    request.call = call
    try {
      if (signal.isDisconnected) throw callerDisconnected()
      signal.onDisconnect = () => call.stop(callerDisconnected())
      running.add(request)
      const received = await calls.send(server, call, { era: 'modern', owner: principal, principal })
      const named = method === 'resources/read' ? received : nameApps(received, server, slices)
      const forwarded = named instanceof Promise ? await named : named
      const { answer, era } = forwarded
      const adaptation = { method, from: era, to: 'legacy', server: server.name, serverInfo: '{}' } as const
      const result = recordAnswer(observation, forwarded, adaptation)
      if (answer.kind === 'error') throw refusalOf(target, answer)
      return target.present(result)
    } catch (error) {
      throw callerError(error, request, server)
    } finally {
      signal.onDisconnect = null
      running.delete(request)
    }
  }
  const run = (
    surface: RestSurface,
    caller: Caller,
    name: string,
    args: string | undefined,
    signal: DisconnectSignal
  ) => calls.run(surface, { caller, name, args, signal, observation: null, call: null, slot: -1 })
  const surfaceOf = (kind: RestKind, resolve: (...parts: ResolveParts) => RestTarget) => ({
    kind,
    describe,
    resolve(request: RestCall, observation: Observation) {
      const { caller, name, args } = request
      observation.setTarget(undefined, name)
      try {
        return resolve(viewFor(catalog(), caller), checkOf(options, request), request, observation)
      } catch (error) {
        if (error instanceof AppError && error.statusCode === 404) {
          const server = refusals.auditOutOfScope(policyRequest(caller), kind, name)
          if (server) observation.keepRefused(args, (text) => options.redactorOf(server)(text))
        }
        throw error
      }
    },
    exchange,
    fail(_request: RestCall, _target: RestTarget, error: unknown): never {
      throw error
    }
  })
  const tools = surfaceOf('tool', (view, check, ...parts) => resolveNamed(view, check, 'tool', ...parts))
  const prompts = surfaceOf('prompt', (view, check, ...parts) => resolveNamed(view, check, 'prompt', ...parts))
  const resources = surfaceOf('resource', resolveUri)

  return {
    invoke: (caller, name, args, signal) => run(tools, caller, name, args ?? '{}', signal),
    render: (caller, name, args, signal) => run(prompts, caller, name, JSON.stringify(args), signal),
    read: (caller, uri, signal) => run(resources, caller, uri, undefined, signal),
    endCalls(principals) {
      for (const { caller, call } of running) if (principals.has(caller.key)) call?.stop(revoked)
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
