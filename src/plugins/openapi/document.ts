import { STATUS_CODES } from 'node:http'
import swagger from '@fastify/swagger'
import type { TSchema } from '@sinclair/typebox'
import Fastify, { type RouteOptions } from 'fastify'
import type { Config } from '../../config.ts'
import { TITLE } from '../../domain/product.ts'
import { patternOf } from '../../validation.ts'
import { commonAnswers } from './answers.ts'
import { about, securitySchemes, serverRules, tags } from './texts.ts'

/** A route as Fastify's `onRoute` shows it: with its whole path. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>

export interface DocumentOptions extends Pick<Config, 'mode' | 'publicUrl'> {
  readonly version: string
  readonly schemas: readonly TSchema[]
  readonly routes: readonly DescribedRoute[]
}

interface Answers {
  readonly responses?: Record<string, { description?: string }>
}

interface Written {
  readonly paths?: Record<string, object | undefined>
  readonly components?: { schemas?: Record<string, object> }
}

/** Fastify's plugin calls every answer without a description `Default Response`. */
function describeAnswers({ paths = {} }: Written): void {
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path ?? {}) as Answers[])) {
    for (const [status, answer] of Object.entries(operation.responses ?? {})) {
      if (answer.description === 'Default Response') answer.description = STATUS_CODES[status] ?? status
    }
  }
}

/** In place of the formats that only our validator knows, the patterns that say the same to everybody's. */
function describeFormats(part: unknown): void {
  if (typeof part !== 'object' || part === null) return
  const schema = part as { format?: unknown }
  const pattern = typeof schema.format === 'string' ? patternOf(schema.format) : undefined
  if (pattern) {
    delete schema.format
    Object.assign(schema, pattern)
  }
  for (const inner of Object.values(part)) describeFormats(inner)
}

/** Schemes by the `access` of a route. */
const schemes = { public: [], user: ['token'], admin: ['token'], client: ['clientToken'] } as const

/** The route with its access and the statuses that it shares with others. A development gateway asks for no token. */
function complete({ method, url, schema = {}, config = {} }: DescribedRoute, mode: Config['mode']) {
  const { access = 'admin' } = config
  const security = schema.security ?? schemes[access].map((scheme) => ({ [scheme]: [] }))
  const own = schema.response as Record<string, object> | undefined
  const response = { ...commonAnswers({ method, url, config }), ...own }
  return { ...schema, response, security: mode === 'development' ? [] : security }
}

/** Fastify's plugin describes the routes of the instance that it is on: these have the routes, and serve nothing. */
export async function createApiDocument(options: DocumentOptions): Promise<object> {
  const { version, schemas, routes, mode, publicUrl } = options
  const app = Fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  for (const schema of schemas) app.addSchema(schema)
  await app.register(swagger, {
    hideUntagged: true,
    openapi: {
      openapi: '3.1.0',
      info: { title: TITLE, version, description: about, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: publicUrl ?? '/', description: 'The gateway that serves this document' }],
      tags: [...tags],
      ...(mode === 'enterprise' && { components: { securitySchemes } })
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject
      const written = document.openapiObject as Written
      describeAnswers(written)
      describeFormats(written)
      Object.assign(written.components?.schemas?.['ServerInput'] ?? {}, serverRules)
      return document.openapiObject
    },
    refResolver: {
      buildLocalReference: (json, _base, _fragment, i) => (typeof json.$id === 'string' ? json.$id : `schema-${i}`)
    }
  })
  for (const route of routes) {
    const { method, url } = route
    app.route({ method, url, schema: complete(route, mode), handler() {} })
  }
  await app.ready()
  return app.swagger()
}
