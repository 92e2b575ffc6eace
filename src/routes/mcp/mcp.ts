import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpContext } from '../../mcp/http-context.ts'
import { GLOBAL_ENDPOINT, groupEndpoint } from '../../catalog/endpoint.ts'
import { endSession, openStream, sendMessage } from '../../schemas/mcp.ts'
import {
  createGroupCheck,
  groupNameOf,
  createOverloadCheck,
  createParkedCheck,
  rejectOtherMethods,
  takeBody,
  parseBodiesAsBuffers,
  hijackReply,
  type BodyOptions
} from './mcp-request.ts'

function httpContextOf(request: FastifyRequest, reply: FastifyReply): HttpContext {
  const group = groupNameOf(request)
  return hijackReply(request, reply, group === undefined ? GLOBAL_ENDPOINT : groupEndpoint(group))
}

/** Streamable HTTP endpoints, one global and one per group (http-contract.md#mcp-endpoints). */
export const mcp: FastifyPluginAsyncTypebox<BodyOptions> = async (app, options) => {
  const { bodyLimit } = options
  const config = { access: 'client', sessionIn: 'header' } as const
  const check = createGroupCheck(app)
  parseBodiesAsBuffers(app, options)

  // checked again after the body arrived: the group may have been removed meanwhile
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
        preHandler: [createOverloadCheck(app), ...(app.siblings ? [createParkedCheck(app.siblings, app)] : [])]
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
  rejectOtherMethods(app, groupEndpoint(':name'), ['POST', 'GET', 'DELETE'])
}
