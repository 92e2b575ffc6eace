import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { publisherOf, type CatalogueEntry } from '../domain/catalogue/entry.ts'
import { installOptions, suggestServerName } from '../domain/catalogue/install.ts'
import type { SearchPlace } from '../domain/catalogue/search.ts'
import { invalid, notFound } from '../lib/errors.ts'
import { callerOf } from '../plugins/auth.ts'
import {
  CatalogueDetails,
  CatalogueInstall,
  CataloguePage,
  CataloguePlan,
  CatalogueQuery,
  InstallQuery
} from '../schemas/catalogue.ts'
import { AuthorizationRequired, RegisteredServer, ServerInput } from '../schemas/server.ts'
import { errorResponses, NameParam, ref } from '../schemas/shared.ts'
import { createBodyCheck } from '../validation/validators.ts'
import { optionRecord, readInstallation } from './catalogue-install.ts'
import { withServer } from './mcpjungle.ts'
import { toServerConfig } from './server-config.ts'

const tags = ['catalogue']
const config = { access: 'admin' } as const

type App = Parameters<FastifyPluginAsyncTypebox>[0]

/** Returns the members that lists and details have in common. */
function commonMembers({ name, title, description, version, repository, website, isDeprecated }: CatalogueEntry) {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    version,
    publisher: publisherOf(name),
    ...(repository === undefined ? {} : { repository }),
    ...(website === undefined ? {} : { website }),
    ...(isDeprecated ? { is_deprecated: true } : {}),
    suggested_name: suggestServerName(name)
  }
}

const encodeCursor = ({ rank, name }: SearchPlace) => Buffer.from(JSON.stringify([rank, name])).toString('base64url')

/** Throws AppError 400 for a text that is not a cursor. */
function decodeCursor(cursor: string): SearchPlace {
  try {
    const [rank, name] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (typeof rank === 'number' && typeof name === 'string') return { rank, name }
  } catch {
    // answered below
  }
  throw invalid('"cursor" is not valid')
}

/** Routes of the catalogue: MCP servers that can be installed (docs/how-to/catalogue.md). */
export const catalogue: FastifyPluginAsyncTypebox = async (app) => {
  addReads(app)
  addInstallation(app)
}

function addReads(app: App): void {
  app.get(
    '/catalogue',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'searchCatalogue',
        summary: 'Search the catalogue',
        description: 'Best matches first, then by name. Texts are written by the publishers of the servers.',
        querystring: CatalogueQuery,
        response: { 200: ref(CataloguePage), ...errorResponses(400) }
      }
    },
    async (request) => {
      const { search = '', limit = 30, cursor } = request.query
      const after = cursor === undefined ? undefined : decodeCursor(cursor)
      const { entries, total, next } = await app.gateway.catalogue.search({ search, limit, after })
      const { registry, readAt, problem } = await app.gateway.catalogue.source()
      return {
        servers: entries.map((entry) => ({
          ...commonMembers(entry),
          options: installOptions(entry).flatMap(({ id, plan }) => (plan ? [id] : []))
        })),
        total,
        ...(next ? { next_cursor: encodeCursor(next) } : {}),
        source: {
          ...(registry === undefined ? {} : { registry }),
          read_at: readAt,
          ...(problem === undefined ? {} : { problem })
        }
      }
    }
  )

  app.get(
    '/catalogue/:name',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'getCatalogueServer',
        summary: 'Get a server of the catalogue',
        description: 'The `/` in the name is written as `%2F`.',
        params: NameParam,
        response: { 200: ref(CatalogueDetails), ...errorResponses(404) }
      }
    },
    async (request) => {
      const entry = await findEntry(app, request.params.name)
      return {
        ...commonMembers(entry),
        options: installOptions(entry).map((option) => optionRecord(option, entry.description))
      }
    }
  )
}

async function findEntry(app: App, name: string): Promise<CatalogueEntry> {
  const entry = await app.gateway.catalogue.find(name)
  if (!entry) throw notFound('server of the catalogue', name)
  return entry
}

function addInstallation(app: App): void {
  const check = createBodyCheck(ServerInput)
  app.post(
    '/catalogue/install',
    {
      config,
      schema: {
        tags,
        operationId: 'installServer',
        summary: 'Install a server of the catalogue',
        description:
          'Registers the server like `POST /servers`, under the same rules. With `dry_run` nothing is registered or started.',
        querystring: InstallQuery,
        body: ref(CatalogueInstall),
        response: {
          200: { ...ref(CataloguePlan), description: 'The plan, with `dry_run`' },
          201: ref(RegisteredServer),
          202: {
            ...ref(AuthorizationRequired),
            description: 'The upstream requires OAuth: sign in, then complete the session'
          },
          ...errorResponses(404, 409, 502, 504)
        }
      }
    },
    async (request, reply) => {
      const { force = false, dry_run: isDryRun = false } = request.query
      const installation = readInstallation(await findEntry(app, request.body.name), request.body)
      if (isDryRun) return reply.code(200).send(installation.plan)
      const input = installation.registration()
      const problem = check(input)
      if (problem !== undefined) throw invalid(problem)
      const done = await app.gateway.servers.register(callerOf(request), toServerConfig(input), { force })
      return 'authorization_required' in done ? reply.code(202).send(done) : reply.code(201).send(withServer(done))
    }
  )
}
