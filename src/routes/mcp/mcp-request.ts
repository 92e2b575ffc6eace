import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { concatBuffers, totalLength } from '../../json/buffer-list.ts'
import { LARGE_BYTES } from '../../json/payload.ts'
import { collectBody, joinInTurns } from './collect-body.ts'
import { notFound } from '../../lib/errors.ts'
import type { TurnQueue } from '../../lib/turn-queue.ts'
import type { HttpContext } from '../../mcp/http-context.ts'
import type { Siblings } from '../../http/siblings.ts'
import { refuseEncoding } from '../../plugins/json-body.ts'
import { forwardToOwner } from '../../plugins/siblings.ts'

export interface BodyOptions {
  /** Limit of a body, in bytes. */
  readonly bodyLimit: number
  /** Queue of large bodies, one for all endpoints of the process. */
  readonly largeBodies: TurnQueue
}

/**
 * Parses bodies as buffers and turns schema validation off. Applies to the scope of the MCP route plugin. Large bodies
 * are joined in steps and passed on one per turn of the event loop: a client that sends many at once would delay all
 * others.
 */
export function parseBodiesAsBuffers(app: FastifyInstance, { bodyLimit, largeBodies }: BodyOptions): void {
  app.setValidatorCompiler(() => () => true)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, payload, done) =>
    collectBody(request.headers, payload, bodyLimit, (error, pieces) => {
      const pass = (body: Buffer) => done(refuseEncoding(request), body)
      if (error) done(error)
      else if (totalLength(pieces) > LARGE_BYTES) void joinInTurns(pieces, largeBodies).then(pass)
      else pass(concatBuffers(pieces))
    })
  )
}

/** Returns the group named in the path; undefined at a global endpoint. */
export const groupNameOf = ({ params }: FastifyRequest) => (params as { name?: string }).name

/**
 * Creates a hook that answers 404 for groups that do not exist or contain nothing the client may use. Both look the
 * same, so that group names cannot be probed.
 */
export const createGroupCheck =
  (app: FastifyInstance) => (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    const group = groupNameOf(request)
    if (group !== undefined && !app.gateway.groups.has(group, request.caller ?? undefined))
      throw notFound('tool group', group)
    done()
  }

/**
 * Answers other methods at a group's URL: 404 if the group does not exist, otherwise 405
 * (mcp-proxy.md#order-of-checks).
 */
export function rejectOtherMethods(app: FastifyInstance, url: string, methods: readonly string[]): void {
  const method = ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => !methods.includes(name))
  const refuse = (_request: FastifyRequest, reply: FastifyReply, _done: () => void) => {
    reply.callNotFound()
  }
  const onRequest = [createGroupCheck(app), refuse]
  const config = { access: 'client', isRefusal: true } as const
  app.route({
    method,
    url,
    exposeHeadRoute: false,
    config,
    onRequest,
    handler: (_request, reply) => reply.callNotFound()
  })
}

/** Creates a hook that rejects new requests under overload; responses and notifications for active calls pass. */
export const createOverloadCheck =
  (app: FastifyInstance) =>
  ({ overloadError, body }: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    if (overloadError && !(body instanceof Buffer && app.gateway.mcp.startsNoWork(body))) throw overloadError
    done()
  }

/**
 * Creates a hook that lets the worker with the parked call answer a request that continues it. The caller was
 * authenticated here too, but nothing was counted.
 */
export const createParkedCheck =
  (siblings: Siblings, app: FastifyInstance) => (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const { raw, headers, body } = request
    const isSession = headers['mcp-session-id'] !== undefined
    if (isSession || siblings.isFromSibling(raw) || !(body instanceof Buffer)) return done()
    const id = app.gateway.mcp.ownStateIn(body)
    if (id === undefined || siblings.owns(id)) return done()
    forwardToOwner(siblings, request, reply, { id, body, next: done })
  }

/** Returns the body and removes it from the request, which lives as long as its response: hours for a stream. */
export function takeBody(request: { body: Buffer | undefined }): Buffer {
  const { body = Buffer.alloc(0) } = request
  request.body = undefined
  return body
}

/** Hijacks the reply: from here on the MCP endpoint writes the response. */
export function hijackReply(request: FastifyRequest, reply: FastifyReply, endpoint: string): HttpContext {
  reply.hijack()
  const { headers, caller, id: requestId, address } = request
  return { headers, response: reply.raw, caller: caller!, endpoint, requestId, address }
}
