import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpContext } from '../../mcp/http-context.ts'
import { groupSseEndpoint, messagePath, SSE_ENDPOINT } from '../../catalog/endpoint.ts'
import { openSse, sendToSse } from '../../schemas/mcp.ts'
import {
  createGroupCheck,
  groupNameOf,
  createOverloadCheck,
  rejectOtherMethods,
  takeBody,
  parseBodiesAsBuffers,
  hijackReply,
  type BodyOptions
} from './mcp-request.ts'

export interface SseOptions extends BodyOptions {
  readonly publicUrl: string | undefined
}

/** Both routes of a pair use the endpoint of the stream, because sessions are bound to it. */
function httpContextOf(request: FastifyRequest, reply: FastifyReply): HttpContext {
  const group = groupNameOf(request)
  return hijackReply(request, reply, group === undefined ? SSE_ENDPOINT : groupSseEndpoint(group))
}

/**
 * HTTP+SSE endpoints of 2024-11-05, one pair global and one per group (http-contract.md#mcp-endpoints,
 * mcp-proxy.md#httpsse-transport).
 */
export const sse: FastifyPluginAsyncTypebox<SseOptions> = async (app, options) => {
  const { bodyLimit, publicUrl } = options
  const config = { access: 'client' } as const
  const onRequest = createGroupCheck(app)
  const prefix = publicUrl ? new URL(publicUrl).pathname.replace(/\/$/, '') : ''
  parseBodiesAsBuffers(app, options)

  for (const url of [SSE_ENDPOINT, groupSseEndpoint(':name')]) {
    app.get(url, { config, schema: openSse(url), exposeHeadRoute: false, onRequest }, (request, reply) => {
      const { mcp } = app.gateway
      const http = httpContextOf(request, reply)
      mcp.openSse(http, `${prefix}${messagePath(http.endpoint)}`)
    })
    app.post<{ Body: Buffer | undefined; Querystring: { sessionId?: string } }>(
      messagePath(url),
      {
        config: { ...config, admittedAfterBody: true, sessionIn: 'query' },
        schema: sendToSse(url),
        bodyLimit,
        onRequest,
        preHandler: createOverloadCheck(app)
      },
      (request, reply) => {
        const { sessionId } = request.query
        app.gateway.mcp.postToSse(httpContextOf(request, reply), { sessionId, body: takeBody(request) })
      }
    )
  }
  rejectOtherMethods(app, groupSseEndpoint(':name'), ['GET'])
  rejectOtherMethods(app, messagePath(groupSseEndpoint(':name')), ['POST'])
}
