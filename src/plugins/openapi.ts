import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from '@sinclair/typebox'
import type { Config } from '../config/config.ts'
import { sendDocument } from '../http/documents.ts'
import { describeInThread, type Describing } from './openapi/describe-in-thread.ts'
import type { DescribedRoute } from './openapi/document.ts'

export interface OpenapiOptions extends Pick<Config, 'docs' | 'mode' | 'publicUrl'> {
  readonly version: string
  readonly schemas: readonly TSchema[]
}

const isShown = ({ method }: DescribedRoute) => method !== 'HEAD'

/**
 * Serves the OpenAPI document at `/openapi.json`, generated from the routes' schemas, and its reader at `/docs`. Both
 * are generated on the first request, in a thread: loading their code takes a sixth of the start.
 */
export default fp<OpenapiOptions>(
  async (app, { version, schemas, docs, mode, publicUrl }) => {
    for (const schema of schemas) app.addSchema(schema)
    const routes: DescribedRoute[] = []
    app.addHook('onRoute', (route) => {
      if (isShown(route)) routes.push(route)
    })

    let describing: Describing | undefined
    const describe = async () => {
      describing ??= describeInThread({ version, schemas, routes, mode, publicUrl })
      const current = describing
      try {
        return await current.description
      } catch (error) {
        // the next request tries again
        if (describing === current) describing = undefined
        throw error
      }
    }
    app.addHook('onClose', () => describing?.stop())
    const send = async (path: string, request: FastifyRequest, reply: FastifyReply) => {
      const document = (await describe()).get(path)
      return document ? sendDocument(request, reply, document) : reply.callNotFound()
    }

    if (docs === 'off') return
    const options = { config: { access: docs === 'on' ? 'public' : 'admin' }, schema: { hide: true } } as const
    for (const path of ['/openapi.json', '/docs']) {
      app.get(path, options, (request, reply) => send(path, request, reply))
    }
    app.get<{ Params: { '*': string } }>('/docs/*', options, (request, reply) =>
      send(`/docs/${request.params['*']}`, request, reply)
    )
  },
  { name: 'openapi', dependencies: ['errors'] }
)
