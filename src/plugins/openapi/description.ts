import { STATUS_CODES } from 'node:http'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import type { TSchema } from '@sinclair/typebox'
import { TITLE } from '../../domain/product.ts'
import { createDocument, type StaticDocument } from '../documents.ts'
import { css, icon, js } from './theme.ts'

/** A route as Fastify's `onRoute` shows it: with its whole path. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema'>

export interface DescriptionOptions {
  readonly version: string
  readonly schemas: readonly TSchema[]
  readonly routes: readonly DescribedRoute[]
}

/** Documents by path: `/openapi.json`, and `/docs` with all that its page loads. */
export type Description = ReadonlyMap<string, StaticDocument>

/** Swagger UI writes style attributes; everything else comes from its own files. */
const csp =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const about = `Management API of the gateway. Every answer that is not 2xx is \`{error}\`, with \`code\` where a machine should tell cases apart.
Any route can answer 403 (Host or Origin not allowed), 408, 414 and 431 (the request itself), 500 and 503 (stopping).
The MCP endpoints are described in the documentation, not here.`

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

/** Fastify's plugin describes the routes of the instance that it is on: these have the routes, and serve nothing. */
async function createApiDocument({ version, schemas, routes }: DescriptionOptions): Promise<object> {
  const app = Fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
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
  for (const { method, url, schema = {} } of routes) app.route({ method, url, schema, handler() {} })
  await app.ready()
  return app.swagger()
}

async function createReader(document: object): Promise<FastifyInstance> {
  const app = Fastify({ exposeHeadRoutes: true })
  await app.register(swagger, { mode: 'static', specification: { document: document as never } })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: csp,
    uiConfig: {
      // without the bar that asks for the address of another description
      layout: 'BaseLayout',
      tryItOutEnabled: true,
      persistAuthorization: false,
      displayRequestDuration: true,
      defaultModelsExpandDepth: 0
    },
    theme: {
      title: `API · ${TITLE}`,
      css: [{ filename: 'theme.css', content: css }],
      js: [{ filename: 'theme.js', content: js }],
      favicon: [{ filename: 'icon.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: icon }]
    }
  })
  await app.ready()
  return app
}

/** Everything that a page refers to. */
const references = (page: Buffer) => [...page.toString().matchAll(/ (?:src|href)="([^"]+)"/g)].map(([, path]) => path!)

/** Asks the reader once for each of its documents. */
async function readDocuments(reader: FastifyInstance): Promise<Description> {
  const documents = new Map<string, StaticDocument>()
  const read = async (url: string) => {
    const { statusCode, headers, rawPayload } = await reader.inject(url)
    if (statusCode !== 200) throw new Error(`${url} of the API reader answers ${statusCode}`)
    const type = String(headers['content-type'])
    documents.set(
      url,
      await createDocument(rawPayload, {
        'content-type': type,
        'content-security-policy': csp,
        'cache-control': 'no-cache'
      })
    )
    return rawPayload
  }
  const page = await read('/docs')
  for (const url of ['/docs/', '/docs/json', '/docs/yaml', ...references(page)]) await read(url)
  return documents
}

/** Describes the routes of the management API; every document is made here, once. */
export async function describeRoutes(options: DescriptionOptions): Promise<Description> {
  const document = await createApiDocument(options)
  const reader = await createReader(document)
  const documents = new Map(await readDocuments(reader))
  await reader.close()
  const json = { 'content-type': 'application/json; charset=utf-8' }
  return documents.set('/openapi.json', await createDocument(Buffer.from(JSON.stringify(document)), json))
}
