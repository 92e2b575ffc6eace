import { isAdministrator } from '../domain/access/access.ts'
import type { CatalogServer } from '../catalog/catalog.ts'
import type { SlicedWork } from '../lib/time-slice.ts'
import type { MemberChanges, Payload } from '../json/payload.ts'
import { codes } from '../protocol/jsonrpc.ts'
import { detailsOf, messageOf, UpstreamFailure } from '../protocol/upstream-failure.ts'
import { recordAnswer, type CallTarget } from '../upstream/client-calls.ts'
import { adaptError, readAnswer } from '../upstream/era-bridge.ts'
import type { Answer, UpstreamAnswer } from '../upstream/transport/call.ts'
import type { Ask } from './approvals/approval-gate.ts'
import type { Elicitations } from './input/elicitations.ts'
import { InputRefusedError } from './input/input-rounds.ts'
import { answerUrlElicitation, attributeUrlElicitations } from './input/url-elicitation.ts'
import type { McpRefusals } from './mcp-refusals.ts'
import { nameApps } from './messages/app-addresses.ts'
import { hasUriKey, type ResourceLinks } from './messages/resource-links.ts'
import { attributeResult, isInputRequired, needsAttribution } from './messages/server-attribution.ts'
import type { Implementation, RequestContext } from './sessions/request-context.ts'
import { permissionWithdrawn } from './withdrawal.ts'

/** Target of an MCP request, with hooks for the server's response. */
export interface McpTarget extends CallTarget {
  /** True if the caller accepts a task instead of the result. */
  readonly acceptsTask?: boolean
  /** Returns the members of a modern server's result to replace, computed from it; `_meta` must be null in them. */
  readonly replace?: ((result: Payload) => MemberChanges | undefined) | undefined
  /** Shortens a result that is too long; undefined if it is not. */
  readonly shorten?: ((result: Payload) => Promise<Payload> | undefined) | undefined
  /** Applied to a result last, before it is sent. */
  readonly rewrite?: ((result: Payload) => Payload) | undefined
  /** Removes what the caller must not read from an answer before anything else reads it. */
  readonly hide?: (body: Payload) => Payload
  /** Set if the call may run only after a yes; absent otherwise. */
  readonly ask?: Ask
  /** Handles an error response; returns false to let the error be sent. */
  readonly onError?: (answer: Answer) => boolean
}

const withHidden = (answered: UpstreamAnswer, hide: (body: Payload) => Payload): UpstreamAnswer => ({
  ...answered,
  answer: { ...answered.answer, body: readAnswer(() => hide(answered.answer.body)) }
})

/** Methods whose results may contain resource links. */
const methodsWithLinks = new Set(['tools/call', 'prompts/get'])

export interface CallRepliesOptions {
  readonly elicitations: Pick<Elicitations, 'recordRequired'>
  readonly resourceLinks: Pick<ResourceLinks, 'record' | 'recordSteps'>
  readonly slices: SlicedWork
  readonly refusals: Pick<McpRefusals, 'auditFailure'>
  readonly identity: Implementation
}

/** Sends the outcomes of calls to MCP clients. */
export class CallReplies {
  readonly #options: CallRepliesOptions
  readonly #serverInfo: string

  constructor(options: CallRepliesOptions) {
    this.#options = options
    this.#serverInfo = JSON.stringify(options.identity)
  }

  /** Records and sends the server's response. Throws UpstreamFailure if it is malformed. */
  sendAnswer(context: RequestContext, target: McpTarget, answered: UpstreamAnswer): Promise<void> | void {
    const { scope, message } = context
    const { server } = target
    const received = target.hide ? withHidden(answered, target.hide) : answered
    const hasLinks = methodsWithLinks.has(message.method)
    const hasUris = hasLinks && hasUriKey(received.answer.body)
    if (!hasLinks) return this.#sendNamed(context, target, received, false)
    const named = nameApps(received, server, this.#options.slices, scope.isBare, hasUris)
    return named instanceof Promise
      ? named.then((forwarded) => this.#sendNamed(context, target, forwarded, hasUris))
      : this.#sendNamed(context, target, named, hasUris)
  }

  /** Records and sends a response in which addresses name their server. */
  #sendNamed(
    context: RequestContext,
    target: McpTarget,
    forwarded: UpstreamAnswer,
    hasUris: boolean
  ): Promise<void> | void {
    const { message, era, caller } = context
    const { method } = message
    const { server, acceptsTask = false, replace } = target
    const { answer, era: from } = forwarded
    const isReplaced = replace && answer.kind === 'result' && from === 'modern'
    const replaced = isReplaced ? readAnswer(() => replace(answer.body)) : undefined
    const { name } = server
    const adaptation = { method, from, to: era, server: name, serverInfo: this.#serverInfo, acceptsTask, replaced }
    const result = recordAnswer(context.observation!, forwarded, adaptation)
    if (answer.kind === 'error') return this.#sendError(context, target, forwarded)
    if (!hasUris) return this.#sendResult(context, target, result, answer.body)
    const { resourceLinks, slices } = this.#options
    const { body } = answer
    const recording = slices.tryRun(body.length, () => resourceLinks.recordSteps(caller.key, server.name, body))
    if (recording) return recording.then(() => this.#sendResult(context, target, result, body))
    resourceLinks.record(caller.key, server.name, body)
    return this.#sendResult(context, target, result, body)
  }

  /** Sends a result that is adapted to the client's era. `original`: as the server sent it, with named addresses. */
  #sendResult(
    { message, era, scope, reply }: RequestContext,
    { server, rewrite, shorten }: McpTarget,
    result: Payload,
    original: Payload
  ): Promise<void> | void {
    // checked on the original result, which is already parsed: the adapted one would be parsed again
    const needsNames = era === 'modern' && needsAttribution(scope) && isInputRequired(original)
    const attributed = needsNames ? readAnswer(() => attributeResult(result, server.name)) : result
    const body = rewrite ? readAnswer(() => rewrite(attributed)) : attributed
    const shorter = shorten && readAnswer(() => shorten(body))
    if (!shorter) return reply.sendAnswer(message.id, { kind: 'result', body })
    return shorter.then((short) => reply.sendAnswer(message.id, { kind: 'result', body: short }))
  }

  /** Sends the failure of a call. Throws errors that are neither a server's failure nor the client's refusal. */
  sendFailure(context: RequestContext, { server }: McpTarget, error: unknown): void {
    const { reply, message } = context
    if (error instanceof InputRefusedError) return reply.sendError(message.id, error.code, error.message)
    if (!(error instanceof UpstreamFailure)) throw error
    this.#sendUpstreamFailure(context, server, error)
  }

  #sendError(context: RequestContext, { server, onError }: McpTarget, { answer, era: from }: UpstreamAnswer): void {
    const { reply, message, era, scope, session } = context
    const { identity, elicitations } = this.#options
    if (onError?.(answer)) return
    if (era === 'modern' && from === 'legacy' && answerUrlElicitation(context, server.name, answer, identity)) return
    if (session) elicitations.recordRequired(server.name, answer, { session, reply })
    const shown = needsAttribution(scope) ? attributeUrlElicitations(answer, server.name) : answer.body
    const { body, status } = adaptError(shown, era)
    reply.sendAnswer(message.id, { kind: 'error', body }, status)
  }

  /**
   * Sends a transport failure as a JSON-RPC error (mcp-proxy.md#upstream-errors), never as `isError`, which belongs to
   * the tool.
   */
  #sendUpstreamFailure(context: RequestContext, server: CatalogServer, failure: UpstreamFailure): void {
    const { reply, message } = context
    this.#options.refusals.auditFailure(context, server, failure)
    if (failure.reason === 'cancelled' && failure !== permissionWithdrawn) {
      reply.openStream()
      return reply.close()
    }
    const { reason, status, retryAfter } = failure
    const audience = { withOutput: isAdministrator(context.caller) }
    const { stderr: _, ...explanation } = detailsOf(failure, audience)
    // a plain HTTP 429, as long as no stream has begun (mcp-proxy.md#error-bodies)
    if (reason === 'limited' && !reply.isStream) {
      return reply.sendHttpError(429, failure.message, { 'retry-after': String(retryAfter) })
    }
    reply.sendError(message.id, codes.internal, messageOf(failure, audience), {
      data: {
        server: server.name,
        reason,
        ...(status === undefined ? {} : { status }),
        ...(retryAfter === undefined ? {} : { retryAfter }),
        ...explanation
      }
    })
  }
}
