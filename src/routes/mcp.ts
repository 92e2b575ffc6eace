import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../errors.ts'
import type { HttpExchange } from '../gateway/downstream/exchange.ts'
import { GLOBAL_ENDPOINT, groupEndpoint } from '../gateway/endpoint.ts'

export interface McpOptions {
  readonly bodyLimit: number
}

/** Name of the group in the path; undefined at the global endpoint. */
const groupIn = ({ params }: FastifyRequest) => (params as { name?: string }).name

function exchangeOf(request: FastifyRequest, reply: FastifyReply): HttpExchange {
  const group = groupIn(request)
  const endpoint = group === undefined ? GLOBAL_ENDPOINT : groupEndpoint(group)
  return { headers: request.headers, response: reply.raw, caller: request.caller!, endpoint }
}

/** The MCP endpoints, global and of each group (contract 4.5): bodies stay bytes, and everything from parsing on is the protocol's own. */
export const mcp: FastifyPluginAsyncTypebox<McpOptions> = async (app, { bodyLimit }) => {
  const { mcp: downstream } = app.gateway
  const config = { access: 'client' } as const

  // nothing here logs by request, and a logger each is a measurable part of a call's cost
  app.setChildLoggerFactory((logger) => logger)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
    done(null, body)
  )

  const onRequest = (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    const group = groupIn(request)
    if (group !== undefined && !app.gateway.hasGroup(group)) throw notFound('tool group', group)
    done()
  }
  for (const url of [GLOBAL_ENDPOINT, groupEndpoint(':name')]) {
    app.post<{ Body: Buffer | undefined }>(url, { config, bodyLimit, onRequest }, (request, reply) => {
      reply.hijack()
      downstream.post(exchangeOf(request, reply), request.body ?? Buffer.alloc(0))
    })
    app.get(url, { config, exposeHeadRoute: false, onRequest }, (request, reply) => {
      reply.hijack()
      downstream.get(exchangeOf(request, reply))
    })
    app.delete(url, { config, onRequest }, (request, reply) => {
      reply.hijack()
      downstream.delete(exchangeOf(request, reply))
    })
  }
}
