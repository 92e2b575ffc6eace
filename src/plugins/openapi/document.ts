import { STATUS_CODES } from 'node:http'
import swagger from '@fastify/swagger'
import type { TSchema } from '@sinclair/typebox'
import Fastify, { type RouteOptions } from 'fastify'
import type { Config } from '../../config/config.ts'
import { TITLE } from '../../domain/product.ts'
import { patternOf } from '../../validation/validators.ts'
import { commonAnswers } from './answers.ts'
import { about, securitySchemes, serverRules, tags } from './texts.ts'

/** A route as passed to Fastify's `onRoute` hook, with its full path. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>

export interface DocumentOptions extends Pick<Config, 'mode' | 'publicUrl'> {
  readonly version: string
  readonly schemas: readonly TSchema[]
  readonly routes: readonly DescribedRoute[]
}

interface Operation {
  readonly responses?: Record<string, { description?: string }>
}

interface GeneratedDocument {
  readonly paths?: Record<string, object | undefined>
  readonly components?: { schemas?: Record<string, object> }
}

/** Replaces `Default Response`, the description that `@fastify/swagger` gives by default, with the status text. */
function describeAnswers({ paths = {} }: GeneratedDocument): void {
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path ?? {}) as Operation[])) {
    for (const [status, answer] of Object.entries(operation.responses ?? {})) {
      if (answer.description === 'Default Response') answer.description = STATUS_CODES[status] ?? status
    }
  }
}

/** Replaces custom formats, which only the gateway's validator knows, with equivalent patterns. */
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

/** Security schemes by the `access` of a route. */
const schemes = {
  public: [],
  self: ['token'],
  user: ['token'],
  call: ['token'],
  auditor: ['token'],
  admin: ['token'],
  client: ['clientToken']
} as const

/**
 * Returns the route's schema with its security scheme and common responses. A development gateway requires no token.
 */
function withCommonAnswers({ method, url, schema = {}, config = {} }: DescribedRoute, mode: Config['mode']) {
  const { access = 'admin' } = config
  const security = schema.security ?? schemes[access].map((scheme) => ({ [scheme]: [] }))
  const ownResponses = schema.response as Record<string, object> | undefined
  const response = { ...commonAnswers({ method, url, config }), ...ownResponses }
  return { ...schema, response, security: mode === 'development' ? [] : security }
}

/**
 * Generates the document. `@fastify/swagger` describes the routes of its own instance, so an instance with the same
 * routes, which serves nothing, is created.
 */
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
      const written = document.openapiObject as GeneratedDocument
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
    app.route({ method, url, schema: withCommonAnswers(route, mode), handler() {} })
  }
  await app.ready()
  return app.swagger()
}
