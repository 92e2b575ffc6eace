import { META } from '../domain/mcp-constants.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import type { Implementation, RequestContext } from './sessions/request-context.ts'

/** Handles one request. Throws ProtocolError if the request is invalid. */
export type Method = (context: RequestContext) => Promise<void> | void

/** Handlers by the name of their method. */
export type Methods = ReadonlyMap<string, Method>

/**
 * Returns the error of a method. The HTTP status is 200 because the message itself was valid (mcp-proxy.md#legacy-wire,
 * mcp-proxy.md#modern-wire).
 */
export const refuse = (
  { message: { id } }: RequestContext,
  text: string,
  data?: unknown,
  code: number = codes.invalidParams
) => new ProtocolError(code, text, { status: 200, id, data })

/** Returns a parameter that must be a string. Throws ProtocolError. */
export function stringParam(context: RequestContext, name: string): string {
  const value = context.message.param(name)
  if (typeof value !== 'string') throw refuse(context, `Invalid params: "${name}" must be a string`)
  return value
}

/** Cache hints that forbid caching: lists differ by caller and can change at any time (mcp-proxy.md#cache-hints). */
export const noCacheHints = ',"ttlMs":0,"cacheScope":"private"'

/** Sends results that the gateway itself produces. */
export class ResultSender {
  readonly #modernMeta: string

  constructor(identity: Implementation) {
    this.#modernMeta = `"${META}serverInfo":${JSON.stringify(identity)}`
  }

  /**
   * Returns the members that every modern result carries, after `extra`; for legacy requests only `_meta`, if there is
   * one. `ownMeta`: JSON text of further members of `_meta`, without braces.
   */
  metaOf({ era }: RequestContext, extra: string, ownMeta = ''): string {
    if (era === 'legacy') return ownMeta === '' ? '' : `"_meta":{${ownMeta}}`
    const meta = ownMeta === '' ? this.#modernMeta : `${this.#modernMeta},${ownMeta}`
    return `"resultType":"complete"${extra},"_meta":{${meta}}`
  }

  /**
   * `members`: JSON text of the result's members without braces; `extra`: further members of modern results; `ownMeta`:
   * see `metaOf`.
   */
  send(context: RequestContext, members: string, extra = '', ownMeta = ''): void {
    const { reply, message } = context
    const meta = this.metaOf(context, extra, ownMeta)
    reply.sendResult(message.id, Buffer.from(`{${members}${members !== '' && meta !== '' ? ',' : ''}${meta}}`))
  }
}
