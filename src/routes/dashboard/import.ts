import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { developmentCaller } from '../../catalog/caller.ts'
import { importServers, type ImportedServer as Found } from '../../domain/import/formats.ts'
import { expandPlaceholders } from '../../domain/placeholders.ts'
import { AppError, invalid } from '../../lib/errors.ts'
import { summaryOf } from '../../control/dashboard/summary.ts'
import { callerOf } from '../../plugins/auth.ts'
import { ImportInput, ImportView, type ImportedServer } from '../../schemas/dashboard/import.ts'
import { DryRunQuery } from '../../schemas/dashboard/shared.ts'
import { ServerInput } from '../../schemas/server.ts'
import { errorResponses } from '../../schemas/shared.ts'
import { createBodyCheck } from '../../validation/validators.ts'
import { baseUrlOf } from '../base-url.ts'
import { toServerConfig } from '../server-config.ts'
import { inParallel } from './in-parallel.ts'
import { CALLBACK, storeWithSignIn } from './registering.ts'
import type { ServersOptions } from './servers.ts'
import type { Caller } from '../../catalog/caller.ts'

/** Servers contacted concurrently. */
const MAX_CONCURRENT = 4
const MAX_TOOLS = 100
/** Limit of servers per import: no real configuration has more, and a larger one would delay other requests. */
const MAX_SERVERS = 1_000

type Values = Readonly<Record<string, string>>
type Check = ReturnType<typeof createBodyCheck>
type Result = NonNullable<ImportedServer['result']>

/** Returns the registration with its placeholders replaced, and the names of those without a value. */
function fillPlaceholders(
  { registration, variables }: Found,
  values: Values
): { input: ServerInput; unset: readonly string[] } {
  const given = (name: string) =>
    Object.hasOwn(values, name) ? values[name] : variables.find((ask) => ask.name === name)?.default
  const { value, unset } = expandPlaceholders(registration, given)
  return { input: value as ServerInput, unset: [...new Set(unset.map(({ name }) => name))] }
}

/** Returns the problems found before contacting the server. Messages name members, never values. */
function validationProblems(input: ServerInput, check: Check): string[] {
  const problem = check(input)
  if (problem !== undefined) return [problem]
  try {
    toServerConfig(input)
    return []
  } catch (error) {
    if (error instanceof AppError) return [error.message]
    throw error
  }
}

function preview(found: Found, values: Values, exists: boolean, check: Check): ImportedServer {
  const { name, registration, problems, notes, ignored, variables } = found
  const { input, unset } = fillPlaceholders(found, values)
  const isReadable = problems.length === 0
  const { transport, session_mode = 'stateless' } = input
  return {
    name,
    ...(isReadable ? { transport } : {}),
    ...(isReadable ? { config_summary: summaryOf({ transport, session_mode, settings: registration }, input) } : {}),
    exists,
    problems: isReadable && unset.length === 0 ? validationProblems(input, check) : [...problems],
    notes: [...notes],
    ignored: [...ignored],
    needs: variables.map(({ name: asked, description, isSecret, default: fallback }) => ({
      name: asked,
      ...(description === undefined ? {} : { description }),
      is_secret: isSecret,
      has_default: fallback !== undefined
    }))
  }
}

/** Imports servers from a pasted configuration of any MCP client. */
export const imports: FastifyPluginAsyncTypebox<ServersOptions> = async (app, { publicUrl, mount }) => {
  const check = createBodyCheck(ServerInput)

  const toolsOf = (server: string) => {
    const tools = JSON.parse(app.gateway.items.list(developmentCaller, 'tool', server).toString()) as { name: string }[]
    return {
      tools: tools.slice(0, MAX_TOOLS).map(({ name }) => name.slice(server.length + 2)),
      tool_count: tools.length
    }
  }
  const register = async (caller: Caller, base: string, input: ServerInput, exists: boolean): Promise<Result> => {
    try {
      const done = await storeWithSignIn(input, `${base}${mount}${CALLBACK}`, (config) =>
        app.gateway.servers.register(caller, config, { force: exists })
      )
      if ('authorization_required' in done) return { outcome: 'sign_in_needed', ...done }
      return { outcome: exists ? 'replaced' : 'added', ...toolsOf(done.name) }
    } catch (error) {
      if (error instanceof AppError) return { outcome: 'failed', error: error.message, ...error.details }
      throw error
    }
  }

  app.post(
    '/servers/import',
    {
      config: { access: 'admin' },
      schema: {
        querystring: DryRunQuery,
        body: ImportInput,
        response: { 200: ImportView, ...errorResponses(400, 413, 415, 503) }
      }
    },
    async (request) => {
      const { configuration, names, values = {}, replace = false } = request.body
      const base = baseUrlOf(request, publicUrl)
      const caller = callerOf(request)
      const { servers: all, problem } = importServers(configuration, { ownUrls: [base] })
      if (problem !== undefined) throw invalid(`the configuration cannot be used: ${problem}`)
      if (all.length > MAX_SERVERS) throw invalid(`the configuration has more than ${MAX_SERVERS} servers`)
      const known = new Set(app.gateway.servers.list(caller).map(({ name }) => name))
      const chosen = all.filter(({ name }) => names?.includes(name) ?? true)

      const importServer = async (found: Found): Promise<ImportedServer> => {
        const exists = known.has(found.name)
        const row = preview(found, values, exists, check)
        if (request.query.dry_run) return row
        const { input, unset } = fillPlaceholders(found, values)
        const [first] = row.problems
        if (first !== undefined) return { ...row, result: { outcome: 'failed', error: first } }
        if (unset.length > 0)
          return { ...row, result: { outcome: 'failed', error: `no value for ${unset.join(', ')}` } }
        if (exists && !replace) return { ...row, result: { outcome: 'skipped' } }
        return { ...row, result: await register(caller, base, input, exists) }
      }
      return { servers: await inParallel(chosen, MAX_CONCURRENT, importServer) }
    }
  )
}
