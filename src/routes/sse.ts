import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpContext } from '../gateway/downstream/exchange.ts'
import { groupSseEndpoint, messagePath, SSE_ENDPOINT } from '../gateway/endpoint.ts'
import { openSse, sendToSse } from '../schemas/mcp.ts'
import { groupCheck, groupIn, refuseNewWork, refuseOthers, takeBody, takeBytes, takeOver } from './mcp-request.ts'

export interface SseOptions {
  readonly bodyLimit: number
  readonly publicUrl: string | undefined
}

/** Both routes of a pair name the endpoint of the stream: sessions are bound to it. */
function httpContextOf(request: FastifyRequest, reply: FastifyReply): HttpContext {
  const group = groupIn(request)
  return takeOver(request, reply, group === undefined ? SSE_ENDPOINT : groupSseEndpoint(group))
}

/**
 * The HTTP+SSE transport of 2024-11-05, global and of each group (http-contract.md#mcp-endpoints,
 * mcp-proxy.md#httpsse-transport).
 */
export const sse: FastifyPluginAsyncTypebox<SseOptions> = async (app, { bodyLimit, publicUrl }) => {
  const config = { access: 'client' } as const
  const onRequest = groupCheck(app)
  const prefix = publicUrl ? new URL(publicUrl).pathname.replace(/\/$/, '') : ''
  takeBytes(app, bodyLimit)

  for (const url of [SSE_ENDPOINT, groupSseEndpoint(':name')]) {
    app.get(url, { config, schema: openSse(url), exposeHeadRoute: false, onRequest }, (request, reply) => {
      const { mcp } = app.gateway
      const http = httpContextOf(request, reply)
      mcp.openSse(http, `${prefix}${messagePath(http.endpoint)}`)
    })
    app.post<{ Body: Buffer | undefined; Querystring: { sessionId?: string } }>(
      messagePath(url),
      {
        config: { ...config, admittedAfterBody: true },
        schema: sendToSse(url),
        bodyLimit,
        onRequest,
        preHandler: refuseNewWork(app)
      },
      (request, reply) => {
        const { sessionId } = request.query
        app.gateway.mcp.postToSse(httpContextOf(request, reply), { sessionId, body: takeBody(request) })
      }
    )
  }
  refuseOthers(app, groupSseEndpoint(':name'), ['GET'])
  refuseOthers(app, messagePath(groupSseEndpoint(':name')), ['POST'])
}
