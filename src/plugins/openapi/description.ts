import { fileURLToPath } from 'node:url'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify, { type FastifyInstance } from 'fastify'
import { TITLE } from '../../domain/product.ts'
import { createDocument, type StaticDocument } from '../../http/documents.ts'
import { createApiDocument, type DocumentOptions } from './document.ts'
import { css, icon, js } from './theme.ts'

/** Documents by path: `/openapi.json`, and `/docs` with the files its page loads. */
export type Description = ReadonlyMap<string, StaticDocument>

/** Swagger UI sets style attributes; everything else comes from its own files. */
const csp =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Path of Swagger UI's own files: the build copies those that the page loads, the sources have the package's. */
const swaggerUiFiles = () =>
  fileURLToPath(
    import.meta.url.endsWith('.ts')
      ? import.meta.resolve('@fastify/swagger-ui/static/index.css').replace('/index.css', '')
      : new URL('./swagger-ui', import.meta.url)
  )

async function createReader(document: object): Promise<FastifyInstance> {
  const app = Fastify({ exposeHeadRoutes: true })
  await app.register(swagger, { mode: 'static', specification: { document: document as never } })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    baseDir: swaggerUiFiles(),
    logo: { type: 'image/svg+xml', content: icon },
    staticCSP: csp,
    uiConfig: {
      // hides the bar for the URL of another document
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

/** Returns the paths that a page loads. */
const references = (page: Buffer) => [...page.toString().matchAll(/ (?:src|href)="([^"]+)"/g)].map(([, path]) => path!)

/** Requests each document of the reader once. */
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

/** Generates the OpenAPI document of the routes and all files of its reader, once. */
export async function describeRoutes(options: DocumentOptions): Promise<Description> {
  const document = await createApiDocument(options)
  const reader = await createReader(document)
  const documents = new Map(await readDocuments(reader))
  await reader.close()
  const json = { 'content-type': 'application/json; charset=utf-8' }
  return documents.set('/openapi.json', await createDocument(Buffer.from(JSON.stringify(document)), json))
}
