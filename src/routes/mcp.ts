import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpContext } from '../gateway/downstream/exchange.ts'
import { GLOBAL_ENDPOINT, groupEndpoint } from '../gateway/endpoint.ts'
import { endSession, openStream, sendMessage } from '../schemas/mcp.ts'
import { groupCheck, groupIn, refuseNewWork, refuseOthers, takeBody, takeBytes, takeOver } from './mcp-request.ts'

export interface McpOptions {
  readonly bodyLimit: number
}

function httpContextOf(request: FastifyRequest, reply: FastifyReply): HttpContext {
  const group = groupIn(request)
  return takeOver(request, reply, group === undefined ? GLOBAL_ENDPOINT : groupEndpoint(group))
}

/**
 * The MCP endpoints, global and of each group (http-contract.md#mcp-endpoints): everything from parsing on is the
 * protocol's own.
 */
export const mcp: FastifyPluginAsyncTypebox<McpOptions> = async (app, { bodyLimit }) => {
  const config = { access: 'client' } as const
  const check = groupCheck(app)
  takeBytes(app, bodyLimit)

  // again behind the body, which may arrive long after the group was removed
  const ofGroup = { onRequest: check, preValidation: check }
  for (const [url, hooks] of [
    [GLOBAL_ENDPOINT, {}],
    [groupEndpoint(':name'), ofGroup]
  ] as const) {
    app.post<{ Body: Buffer | undefined }>(
      url,
      {
        config: { ...config, admittedAfterBody: true },
        schema: sendMessage(url),
        bodyLimit,
        ...hooks,
        preHandler: refuseNewWork(app)
      },
      (request, reply) => {
        app.gateway.mcp.post(httpContextOf(request, reply), takeBody(request))
      }
    )
    app.get(url, { config, schema: openStream(url), exposeHeadRoute: false, ...hooks }, (request, reply) => {
      app.gateway.mcp.get(httpContextOf(request, reply))
    })
    app.delete(url, { config, schema: endSession(url), ...hooks }, (request, reply) => {
      app.gateway.mcp.delete(httpContextOf(request, reply))
    })
  }
  refuseOthers(app, groupEndpoint(':name'), ['POST', 'GET', 'DELETE'])
}
