import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpExchange } from '../gateway/downstream/exchange.ts'

export interface McpOptions {
  readonly bodyLimit: number
}

const exchangeOf = (request: FastifyRequest, reply: FastifyReply): HttpExchange => ({
  headers: request.headers,
  response: reply.raw,
  caller: request.caller!,
  endpoint: '/mcp'
})

/** The MCP endpoint (contract 4.5): bodies stay bytes, and everything from parsing on is the protocol's own. */
export const mcp: FastifyPluginAsyncTypebox<McpOptions> = async (app, { bodyLimit }) => {
  const { mcp: downstream } = app.gateway
  const config = { access: 'client' } as const

  // nothing here logs by request, and a logger each is a measurable part of a call's cost
  app.setChildLoggerFactory((logger) => logger)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
    done(null, body)
  )

  app.post<{ Body: Buffer | undefined }>('/mcp', { config, bodyLimit }, (request, reply) => {
    reply.hijack()
    downstream.post(exchangeOf(request, reply), request.body ?? Buffer.alloc(0))
  })
  app.get('/mcp', { config, exposeHeadRoute: false }, (request, reply) => {
    reply.hijack()
    downstream.get(exchangeOf(request, reply))
  })
  app.delete('/mcp', { config }, (request, reply) => {
    reply.hijack()
    downstream.delete(exchangeOf(request, reply))
  })
}
