import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../errors.ts'
import type { HttpContext } from '../gateway/downstream/exchange.ts'
import { refuseEncoding } from '../plugins/json-body.ts'

/** Bodies stay bytes, and schemas only describe; for plugins of MCP routes, whose own scope this changes. */
export function takeBytes(app: FastifyInstance, bodyLimit: number): void {
  app.setValidatorCompiler(() => () => true)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit }, (request, body, done) =>
    done(refuseEncoding(request), body)
  )
}

/** Name of the group in the path; undefined at a global endpoint. */
export const groupIn = ({ params }: FastifyRequest) => (params as { name?: string }).name

/** A hook that refuses groups that are not there, and alike those with nothing for the client: names cannot be probed. */
export const groupCheck =
  (app: FastifyInstance) => (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    const group = groupIn(request)
    if (group !== undefined && !app.gateway.hasGroup(group, request.caller ?? undefined))
      throw notFound('tool group', group)
    done()
  }

/**
 * Other methods at a group's URL are a 405 only where the group is there (mcp-proxy.md#order-of-checks: group, then
 * method).
 */
export function refuseOthers(app: FastifyInstance, url: string, methods: readonly string[]): void {
  const method = ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => !methods.includes(name))
  const refuse = (_request: FastifyRequest, reply: FastifyReply, _done: () => void) => {
    reply.callNotFound()
  }
  const onRequest = [groupCheck(app), refuse]
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

/** A hook that refuses what asks for something while there is no room; what only finishes calls under way passes. */
export const refuseNewWork =
  (app: FastifyInstance) =>
  ({ overloadError, body }: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    if (overloadError && !(body instanceof Buffer && app.gateway.mcp.startsNoWork(body))) throw overloadError
    done()
  }

/** The body, which the request then lets go of: it lives as long as its answer, a stream for hours. */
export function takeBody(request: { body: Buffer | undefined }): Buffer {
  const { body = Buffer.alloc(0) } = request
  request.body = undefined
  return body
}

/** Takes the response over: from here on everything is the protocol's own. */
export function takeOver(request: FastifyRequest, reply: FastifyReply, endpoint: string): HttpContext {
  reply.hijack()
  const { headers, caller, id: requestId, address } = request
  return { headers, response: reply.raw, caller: caller!, endpoint, requestId, address }
}
