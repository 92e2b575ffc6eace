import { STATUS_CODES } from 'node:http'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'
import type { TSchema } from '@sinclair/typebox'
import { TITLE } from '../domain/product.ts'

/** Swagger UI writes style attributes; everything else comes from its own files. */
const csp =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

interface Answers {
  readonly responses?: Record<string, { description?: string }>
}

/** Fastify's plugin calls every answer without a description `Default Response`. */
function describeAnswers({ paths = {} }: { paths?: Record<string, object | undefined> }): void {
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path ?? {}) as Answers[])) {
    for (const [status, answer] of Object.entries(operation.responses ?? {})) {
      if (answer.description === 'Default Response') answer.description = STATUS_CODES[status] ?? status
    }
  }
}

const about = `Management API of the gateway. Every answer that is not 2xx is \`{error}\`, with \`code\` where a machine should tell cases apart.
Any route can answer 403 (Host or Origin not allowed), 408, 414 and 431 (the request itself), 500 and 503 (stopping).
The MCP endpoints are described in the documentation, not here.`

/** The OpenAPI document at `/openapi.json`, made from the routes' schemas, and its reader at `/docs`. */
export default fp<{ version: string; schemas: readonly TSchema[] }>(
  async (app, { version, schemas }) => {
    for (const schema of schemas) app.addSchema(schema)
    await app.register(swagger, {
      hideUntagged: true,
      openapi: {
        openapi: '3.1.0',
        info: { title: TITLE, version, description: about }
      },
      transformObject: (document) => {
        if (!('openapiObject' in document)) return document.swaggerObject
        describeAnswers(document.openapiObject)
        return document.openapiObject
      },
      refResolver: {
        buildLocalReference: (json, _base, _fragment, i) => (typeof json.$id === 'string' ? json.$id : `schema-${i}`)
      }
    })
    await app.register(async (docs) => {
      docs.addHook('onRoute', (route) => {
        route.config = { ...route.config, access: 'public' }
      })
      await docs.register(swaggerUi, { routePrefix: '/docs', staticCSP: csp })
    })
    app.get('/openapi.json', { config: { access: 'public' }, schema: { hide: true } }, () => app.swagger())
  },
  { name: 'openapi', dependencies: ['errors'] }
)
