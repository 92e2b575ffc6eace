import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from '@sinclair/typebox'
import type { Description, DescribedRoute } from './openapi/description.ts'

const isShown = ({ method }: DescribedRoute) => method !== 'HEAD'

/**
 * The OpenAPI document at `/openapi.json`, made from the routes' schemas, and its reader at `/docs`. What makes them is
 * loaded when somebody asks: it takes a sixth of the time that a start may take.
 */
export default fp<{ version: string; schemas: readonly TSchema[] }>(
  async (app, { version, schemas }) => {
    for (const schema of schemas) app.addSchema(schema)
    const routes: DescribedRoute[] = []
    app.addHook('onRoute', (route) => {
      if (isShown(route)) routes.push(route)
    })

    let described: Promise<Description> | undefined
    const describe = () => (described ??= load())
    const load = async () => {
      const { describeRoutes } = await import('./openapi/description.ts')
      return describeRoutes({ version, schemas, routes })
    }
    const read = async ({ method, raw, headers: asked }: FastifyRequest, reply: FastifyReply) => {
      const { page } = await describe()
      const { status, headers, body } = await page(method as 'GET' | 'HEAD', raw.url!, asked['if-none-match'])
      if (status === 404) return reply.callNotFound()
      return reply.code(status).headers(headers).send(body)
    }

    const isPublic = { config: { access: 'public' }, schema: { hide: true } } as const
    app.get('/openapi.json', isPublic, async () => (await describe()).document)
    app.get('/docs', isPublic, read)
    app.get('/docs/*', isPublic, read)
  },
  { name: 'openapi', dependencies: ['errors'] }
)
