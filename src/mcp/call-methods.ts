import type { Negotiation } from '../registry/model/model.ts'
import { members, valueOf, withMembers } from '../json/json.ts'
import { namedContents } from './messages/named-contents.ts'
import { namedChildren, namedSkill } from './messages/named-skills.ts'
import { declaredExtension } from '../catalog/extensions.ts'
import { MODERN_VERSION, SKILLS_EXTENSION } from '../domain/mcp-constants.ts'
import { errorCode } from '../upstream/era-bridge.ts'
import type { Item, CatalogServer } from '../catalog/catalog.ts'
import type { CompiledOverride } from '../catalog/compiled-override.ts'
import { ArgumentsRefused } from '../catalog/overrides/edit-arguments.ts'
import type { CallSurface, ClientCalls } from '../upstream/client-calls.ts'
import { chooseEra } from '../upstream/upstream.ts'
import { mismatchedHeader, otherParamHeaders, paramHeaderPairs } from '../protocol/param-headers.ts'
import type { CallKind, InboundCall, Observation } from '../observe/observation.ts'
import { Payload } from '../json/payload.ts'
import type { LockedSecrets } from '../domain/secrets/locked-secrets.ts'
import { AppError } from '../lib/errors.ts'
import { isVisible, resourceOf, type ResourceTarget } from '../catalog/resource-resolution.ts'
import { type Scope } from '../catalog/scope.ts'
import { allowedByDefault, dependsOnCall } from '../domain/policy/permit.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import { checkResource, refuseByPolicy, stepUp } from './policy-refusals.ts'
import type { FileTest } from '../catalog/items/skill-entry.ts'
import type { PolicyDenial, PolicyGate } from './policy-gate.ts'
import { hasMethod, noteMethod, type TriedMethod } from '../catalog/undeclared-methods.ts'
import type { Answer } from '../upstream/transport/call.ts'
import type { CallReplies, McpTarget } from './call-replies.ts'
import type { Ask } from './approvals/approval-gate.ts'
import type { AskedCalls } from './approvals/asked-calls.ts'
import type { CallForwarder } from './forward.ts'
import { invalidState, type InputRequiredStore } from './input/input-required-store.ts'
import type { PendingCall } from './input/pending-call.ts'
import { completionArguments, referenceText, strictReference } from '../protocol/completion.ts'
import type { McpRefusals } from './mcp-refusals.ts'
import type { ClientInfoCache } from './messages/client-info.ts'
import { decodeHeader, headerMismatch } from './messages/era.ts'
import type { ResourceLinks } from './messages/resource-links.ts'
import { noCacheHints, refuse, stringParam, type Method, type Methods, type ResultSender } from './method.ts'
import { callFragment, codes, paramsFragment } from '../protocol/jsonrpc.ts'
import { isResultAddress, type LargeResults } from './results/large-results.ts'
import type { SearchTools } from './search-tools.ts'
import type { RequestContext } from './sessions/request-context.ts'

const noHeaders: readonly string[] = []
const inputRoundChanges = { inputResponses: null, requestState: null }

/**
 * Checks the parameter headers of a modern request and returns the headers to send upstream
 * (mcp-proxy.md#parameter-headers). `edited`: JSON text of the arguments to send, if they differ from those given.
 */
function paramHeaders(
  { era, message, headers, isInner }: RequestContext,
  { paramHeaders: params }: Item,
  edited: string | undefined
): readonly string[] {
  // the headers of a call through search are those of `call_tool`, which has no parameters with headers
  if (params.headers.length === 0) return era === 'legacy' || isInner ? noHeaders : otherParamHeaders(params, headers)
  const given = message.param('arguments')
  const args: unknown = edited === undefined ? given : JSON.parse(edited)
  if (era === 'legacy' || isInner) return paramHeaderPairs(params, args)
  const wrong = mismatchedHeader(params, given, headers, decodeHeader)
  if (wrong) throw headerMismatch(message.id, wrong.header, wrong.given, wrong.body)
  return [...paramHeaderPairs(params, args), ...otherParamHeaders(params, headers)]
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

const argumentsOf = ({ message }: RequestContext) => valueOf(message.text, message.paramMembers, 'arguments')

/**
 * Returns the arguments of a call as its group's override makes them; undefined if it leaves them as they are. Throws
 * ProtocolError if the caller must not send what it sent.
 */
function editedArguments(context: RequestContext, override: CompiledOverride | undefined): string | undefined {
  if (!override?.editArguments) return undefined
  try {
    return override.editArguments(argumentsOf(context))
  } catch (error) {
    if (!(error instanceof ArgumentsRefused)) throw error
    const { argument } = error
    throw refuse(context, `Invalid params: ${error.message}`, argument === undefined ? undefined : { argument })
  }
}

/** Returns the target of a call whose answer must not tell the caller what the group has locked to a secret. */
function withHiddenSecrets(target: McpTarget, secrets: LockedSecrets | undefined): McpTarget {
  return secrets ? { ...target, hide: (body) => Payload.of(secrets.redact(body.toString())) } : target
}

/** Returns the target of a call that needs a yes: whoever gives it is shown the arguments, so nothing else is sent. */
function askedTarget(target: McpTarget, ask: Ask): McpTarget {
  const { item, args } = ask
  const members = `"name":${JSON.stringify(item.name)}${args === undefined ? '' : `,"arguments":${args}`}`
  const headers =
    item.paramHeaders.headers.length === 0 ? [] : paramHeaderPairs(item.paramHeaders, JSON.parse(args ?? '{}'))
  return { ...target, members, headers, ask }
}

const noHooks = {}
const hasOutputSchema = ({ stored: { definition } }: Item) =>
  valueOf(definition, members(definition), 'outputSchema') !== undefined

const noCompletion = '"completion":{"values":[],"total":0,"hasMore":false}'

interface Reference {
  readonly server: ResourceTarget['server']
  /** Member of `ref` that identifies the item; `value` is its name or URI on the upstream. */
  readonly key: 'name' | 'uri'
  readonly value: string
  readonly item: PolicyItem
}

export interface TargetResolverOptions {
  readonly refusals: Pick<McpRefusals, 'auditOutOfScope'>
  readonly policies: PolicyGate
  readonly inputRequiredStore: Pick<InputRequiredStore<PendingCall>, 'isOwnState'>
  readonly resourceLinks: Pick<ResourceLinks, 'find'>
  readonly results: ResultSender
  /** Returns a function that removes a server's secrets from a text. */
  readonly redactorOf: (server: CatalogServer) => (text: string) => string
  readonly largeResults: Pick<LargeResults, 'shorten'>
  /** Answers a call of an unknown tool through search. */
  readonly sendUnknown: (context: RequestContext, name: string) => void
  /** Returns the function that puts the caller's handle into a result that names a task. */
  readonly newTasks: (context: RequestContext, tool: Item) => NonNullable<McpTarget['replace']>
}

/**
 * Finds the targets of calls within the caller's scope and writes their parameters for the server. Methods throw
 * ProtocolError.
 */
export class TargetResolver {
  readonly #options: TargetResolverOptions

  constructor(options: TargetResolverOptions) {
    this.#options = options
  }

  /** Resolves the tool or prompt of a request; undefined after the answer that a policy refuses the tool's arguments. */
  item(kind: 'tool' | 'prompt', context: RequestContext, observation: Observation): McpTarget | undefined {
    const { message, scope } = context
    const publicName = stringParam(context, 'name')
    const item = scope.find(kind, publicName)
    observation.setTarget(item?.server.name, item?.alias ?? publicName)
    if (!item) return this.#answerUnknown(kind, context, publicName, observation)
    if (message.has('arguments') && !message.isObject('arguments')) {
      throw refuse(context, 'Invalid params: "arguments" must be an object')
    }
    const override = kind === 'tool' ? scope.overrideOf(item) : undefined
    if (override?.secrets) observation.hideSecrets(override.secrets)
    const edited = editedArguments(context, override)
    const decision = scope.decide(item)
    // most calls need no policy that looks at arguments: these are not searched for
    const sent = () => edited ?? argumentsOf(context)
    const args = dependsOnCall(decision) ? sent() : undefined
    const outcome =
      decision === allowedByDefault ? undefined : this.#options.policies.outcomeOf(context, item, decision, args)
    if (outcome?.denial) return this.#refuse(item, context, observation, outcome.denial, sent())
    const secrets = override?.secrets
    const target = withHiddenSecrets(this.#target(kind, context, item, edited), secrets)
    return outcome?.ask ? askedTarget(target, { rule: outcome.ask, item, args, secrets }) : target
  }

  /** Answers a model that calls an unknown tool through search; throws ProtocolError for all other callers. */
  #answerUnknown(kind: 'tool' | 'prompt', context: RequestContext, name: string, observation: Observation): undefined {
    const error = this.#unknownItem(context, kind, name, undefined, observation)
    if (!context.isInner) throw error
    observation.fail(error)
    this.#options.sendUnknown(context, name)
  }

  /** Returns the target of a call that may run. */
  #target(kind: 'tool' | 'prompt', context: RequestContext, item: Item, edited: string | undefined): McpTarget {
    const { message } = context
    const { name, server } = item
    const round = this.#inputRoundChanges(context, server)
    const own = { name: JSON.stringify(name) }
    const changes = round ? { ...own, ...round } : own
    const fragment = edited === undefined ? paramsFragment(message, changes) : callFragment(message, changes, edited)
    const headers = paramHeaders(context, item, edited)
    const target = { server, members: fragment, name, headers, ...this.#shortened(context, item) }
    const acceptsTask = kind === 'tool' && context.taskCapabilities !== undefined
    return acceptsTask ? { ...target, acceptsTask, replace: this.#options.newTasks(context, item) } : target
  }

  /** Returns the hook that shortens the results of a tool, if the endpoint has a limit; no promised shape is broken. */
  #shortened(context: RequestContext, item: Item): Pick<McpTarget, 'shorten'> {
    const { maxResultTokens: max } = context.scope
    if (max === null || item.kind !== 'tool' || hasOutputSchema(item)) return noHooks
    return { shorten: (result) => this.#options.largeResults.shorten(context, item, max, result) }
  }

  /** Resolves the resource of a request. */
  resource(context: RequestContext, observation: Observation): McpTarget {
    const { message, scope, caller } = context
    const { resourceLinks, refusals } = this.#options
    const requestedUri = stringParam(context, 'uri')
    const target = scope.resolve(requestedUri, true, resourceLinks.find(caller.key, requestedUri))
    observation.setTarget(target?.server.name, target?.uri ?? requestedUri)
    if (!target) {
      refusals.auditOutOfScope(context, 'resource', requestedUri)
      throw resourceNotFound(context, requestedUri)
    }
    const { server, uri, form } = target
    checkResource(context, this.#options.policies, target)
    const changes = { uri: JSON.stringify(uri), ...this.#inputRoundChanges(context, server) }
    const rewrite = form === 'own' && scope.isBare ? undefined : (result: Payload) => namedContents(result, target)
    return { server, members: paramsFragment(message, changes), name: uri, rewrite }
  }

  /** Resolves the prompt or resource to complete; undefined after an empty answer for a server without completions. */
  reference(context: RequestContext, observation: Observation): McpTarget | undefined {
    const { message } = context
    const { results } = this.#options
    const ref = referenceText(message)
    const { server, key, value, item } = this.#findReference(context)
    const decision = context.scope.decide(item)
    const isDecided = decision !== allowedByDefault
    const changed = isDecided
      ? strictReference(message, ref, key, value)
      : withMembers(ref, { [key]: JSON.stringify(value) })
    const denial = isDecided && this.#options.policies.denialOf(context, item, decision, completionArguments(message))
    if (denial) throw refuseByPolicy(context, denial)
    observation.setTarget(server.name, value)
    const { negotiation } = server.stored
    const isDeclared = negotiation?.capabilities['completions'] !== undefined
    if (!negotiation || !(isDeclared || mayTryUndeclared(context, server, negotiation, 'completion/complete'))) {
      results.send(context, noCompletion)
      return undefined
    }
    const onError = (answer: Answer) => {
      if (isDeclared || errorCode(answer) !== codes.methodNotFound) return false
      noteMethod(negotiation, 'completion/complete', false)
      results.send(context, noCompletion)
      return true
    }
    return { server, members: paramsFragment(message, { ref: changed }), onError }
  }

  #findReference(context: RequestContext): Reference {
    const { params } = context.message
    const ref = (params['ref'] ?? {}) as { type?: unknown; name?: unknown; uri?: unknown }
    if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
      const item = context.scope.find('prompt', ref.name)
      if (!item) throw this.#unknownItem(context, 'prompt', ref.name)
      return { server: item.server, key: 'name', value: item.name, item }
    }
    if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
      // completions of the wrong server would look plausible, so the server is never guessed
      const { scope } = context
      const target = scope.resolveTemplate(ref.uri) ?? scope.resolve(ref.uri, false)
      if (!target) throw this.#unknownItem(context, 'resource', ref.uri, { uri: ref.uri })
      const { server, uri } = target
      const item = server.find('template', uri) ?? resourceOf(scope.catalog, server.name, uri)
      return { server, key: 'uri', value: uri, item }
    }
    throw refuse(context, 'Invalid params: "ref" must name a prompt or a resource')
  }

  /** Answers a tool's call that a policy refuses; throws ProtocolError for a prompt, or if more scopes would help. */
  #refuse(
    { kind, server }: Item,
    context: RequestContext,
    observation: Observation,
    denial: PolicyDenial,
    args: string | undefined
  ): undefined {
    const { redactorOf } = this.#options
    observation.keepRefused(args, (text) => redactorOf(server)(text))
    if (kind === 'prompt') throw refuseByPolicy(context, denial)
    const error = stepUp(context, denial)
    if (error) throw error
    observation.end('refused', denial.reason)
    return this.#sendDenial(context, denial)
  }

  /** Tells the caller of a tool why a policy refuses the call, so that a model can correct itself. */
  #sendDenial(context: RequestContext, { reason, policy, decision }: PolicyDenial): undefined {
    const meta = `"dev.towpath/denied":${JSON.stringify({ policy, decision })}`
    const body = `"content":[{"type":"text","text":${JSON.stringify(reason)}}],"isError":true`
    this.#options.results.send(context, body, '', meta)
  }

  #unknownItem(
    context: RequestContext,
    kind: 'tool' | 'prompt' | 'resource',
    name: string,
    data?: unknown,
    observation?: Observation
  ) {
    const { refusals, redactorOf } = this.#options
    const { scope } = context
    const meant = kind === 'tool' ? (scope.renamed(name) ?? scope.ownNamed(name)) : undefined
    const server = refusals.auditOutOfScope(context, kind, meant?.publicName ?? name)
    if (server) observation?.keepRefused(argumentsOf(context), (text) => redactorOf(server)(text))
    return refuse(context, `Unknown ${kind}: ${name}`, data)
  }

  /**
   * Removes the input-round members if the upstream speaks the legacy protocol, which has no input rounds
   * (mcp-proxy.md#asking-the-client). A `requestState` not signed by this gateway is invalid there.
   */
  #inputRoundChanges({ era, message }: RequestContext, { stored }: CatalogServer) {
    if (era === 'legacy' || !stored.negotiation || chooseEra(stored.negotiation, stored, era) === 'modern')
      return undefined
    const requestState = message.param('requestState')
    if (requestState !== undefined && !this.#options.inputRequiredStore.isOwnState(requestState))
      throw invalidState(message)
    return inputRoundChanges
  }
}

export interface CallMethodsOptions {
  readonly calls: ClientCalls
  readonly targets: TargetResolver
  readonly forwarder: CallForwarder
  readonly askedCalls: AskedCalls<McpTarget>
  readonly replies: CallReplies
  readonly clientInfoCache: Pick<ClientInfoCache, 'client'>
}

/** Creates a method whose requests are forwarded to the server that `resolve` finds. */
export type CreateCallMethod = (
  kind: CallKind,
  resolve: CallSurface<RequestContext, McpTarget, void>['resolve']
) => Method

/** Returns a function that creates methods which are forwarded to servers. */
export function callMethodFactory(options: Omit<CallMethodsOptions, 'targets'>): CreateCallMethod {
  const { calls, forwarder, askedCalls, replies, clientInfoCache } = options
  const describe = ({ caller, endpoint, era, requestId, session, message, isInner }: RequestContext): InboundCall => {
    const client = session ? session.client : clientInfoCache.client(message).name
    const clientVersion = session ? session.version : era === 'modern' ? MODERN_VERSION : undefined
    return { caller, endpoint, via: isInner ? 'search' : era, requestId, client, clientVersion }
  }
  return (kind, resolve) => {
    const surface: CallSurface<RequestContext, McpTarget, void> = {
      kind,
      describe,
      resolve,
      exchange(context, target) {
        if (target.ask !== undefined) return askedCalls.exchange(context, target, target.ask)
        askedCalls.checkUnasked(context)
        return forwarder.forward(context, target)
      },
      fail: (context, target, error) => replies.sendFailure(context, target, error)
    }
    return (context) => calls.run(surface, context)
  }
}

const resourceNotFound = (context: RequestContext, uri: string) => {
  const code = context.era === 'modern' ? codes.invalidParams : codes.legacyResourceNotFound
  return refuse(context, `Resource not found: ${uri}`, { uri }, code)
}

/** Creates the method that reads texts of results that were cut (tool-groups.md#long-results). */
export const createResultReader =
  (largeResults: Pick<LargeResults, 'read'>, results: ResultSender): Method =>
  async (context) => {
    const uri = stringParam(context, 'uri')
    const part = await largeResults.read(context, uri).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error
      throw refuse(context, error.message, { reason: 'overloaded', retryAfter: error.retryAfter ?? 1 }, codes.internal)
    })
    if (!part) throw resourceNotFound(context, uri)
    const { text, size, next } = part
    const content = { uri, mimeType: 'text/plain', text, _meta: { 'dev.towpath/size': size, 'dev.towpath/next': next } }
    results.send(context, `"contents":[${JSON.stringify(content)}]`, noCacheHints)
  }

/** Creates the methods that call tools, render prompts, read resources and complete arguments. */
export function createCallMethods(
  targets: TargetResolver,
  callMethod: CreateCallMethod,
  searchTools: Pick<SearchTools, 'call'>,
  readResult: Method
): Methods {
  const readResource = callMethod('resource', (context, observation) => targets.resource(context, observation))
  const callTool = callMethod('tool', (context, observation) => targets.item('tool', context, observation))
  return new Map<string, Method>([
    ['tools/call', (context) => searchTools.call(context, callTool)],
    ['prompts/get', callMethod('prompt', (context, observation) => targets.item('prompt', context, observation))],
    [
      'resources/read',
      (context) => (isResultAddress(context.message.param('uri')) ? readResult : readResource)(context)
    ],
    ['completion/complete', callMethod('completion', (context, observation) => targets.reference(context, observation))]
  ])
}

export interface SkillMethodsOptions {
  readonly callMethod: CreateCallMethod
  readonly refusals: Pick<McpRefusals, 'auditOutOfScope'>
  readonly policies: PolicyGate
  readonly results: ResultSender
}

/** Resolves a URI of a skill or directory to a server in scope that declares skills. */
function findTarget(scope: Scope, uri: string): ResourceTarget | undefined {
  const target = scope.resolve(uri)
  return target && declaredExtension(target.server, SKILLS_EXTENSION) ? target : undefined
}

/** Returns a test for the files of a server that policies show to the caller. */
const shownBy =
  ({ scope }: RequestContext, { server }: ResourceTarget): FileTest =>
  (own) =>
    isVisible(scope.decideUri(server, own))

/** Creates the methods of the Skills extension beside `skills/list` (mcp-proxy.md#skills). */
export function createSkillMethods({ callMethod, refusals, policies, results }: SkillMethodsOptions): Methods {
  const notFound = (context: RequestContext, what: string, uri: string) => {
    refusals.auditOutOfScope(context, 'skill', uri)
    return refuse(context, `${what} not found: ${uri}`, { uri })
  }
  const targetOf = (
    context: RequestContext,
    target: ResourceTarget,
    observation: Observation,
    rewrite: (result: Payload) => Payload
  ): McpTarget => {
    const { server, uri } = target
    observation.setTarget(server.name, uri)
    checkResource(context, policies, target)
    return { server, members: paramsFragment(context.message, { uri: JSON.stringify(uri) }), rewrite }
  }
  const askForSkill = callMethod('resource', (context, observation) => {
    const uri = stringParam(context, 'uri')
    const target = findTarget(context.scope, uri)
    observation.setTarget(target?.server.name, target?.uri ?? uri)
    // a listed skill that is asked for is disabled: an enabled one is answered from memory
    if (!target || target.server.find('skill', target.uri)) throw notFound(context, 'Skill', uri)
    return targetOf(context, target, observation, (result) => namedSkill(result, target, shownBy(context, target)))
  })
  return new Map([
    [
      'skills/get',
      (context) => {
        const uri = stringParam(context, 'uri')
        const known = context.scope.skillAt(uri)
        if (known === undefined) return askForSkill(context)
        checkResource(context, policies, context.scope.resolve(uri)!)
        return results.send(context, `"skill":${known}`, noCacheHints)
      }
    ],
    [
      'resources/directory/read',
      callMethod('resource', (context, observation) => {
        const uri = stringParam(context, 'uri')
        const target = findTarget(context.scope, uri)
        observation.setTarget(target?.server.name, target?.uri ?? uri)
        if (!target || declaredExtension(target.server, SKILLS_EXTENSION)!['directoryRead'] !== true)
          throw notFound(context, 'Directory', uri)
        const rewrite = (result: Payload) =>
          namedChildren(result, target, context.scope.isBare, shownBy(context, target))
        return targetOf(context, target, observation, rewrite)
      })
    ]
  ])
}
