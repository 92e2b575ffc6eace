import type { Static } from '@sinclair/typebox'
import { ENTERPRISE_MODE_ONLY } from '../../domain/error-codes.ts'
import { leftOutTitle } from '../../domain/left-out.ts'
import type { Check, Diagnostics } from '../../schemas/dashboard/diagnostics.ts'
import type { User } from '../../schemas/principal.ts'
import type { Server } from '../../schemas/server.ts'
import type { Stats } from '../../schemas/stats.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure } from '../io/failure.ts'

/** Results of the checks that need the gateway. */
export interface GatewayChecks {
  readonly checks: readonly Check[]
  /** True if the token is missing or rejected. */
  readonly isRefused: boolean
}

/** Returns the body or the Failure; rethrows any other error. */
async function request<T>(cli: Cli, path: string): Promise<T | Failure> {
  try {
    return (await cli.api.get<T>(path)).body
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

const failed = (id: string, { message: title, hint }: Failure): Check => ({
  id,
  status: 'fail',
  title,
  ...(hint === undefined ? {} : { hint })
})

/**
 * Runs the gateway checks: in development mode the dashboard's Diagnostics, in enterprise mode those that the caller
 * may see.
 */
export async function checkGateway(cli: Cli): Promise<GatewayChecks> {
  const ready = await request(cli, '/ready')
  const readiness: Check =
    ready instanceof Failure ? failed('ready', ready) : { id: 'ready', status: 'pass', title: 'The gateway is ready' }
  const who = await request<Static<typeof User>>(cli, '/api/v0/users/whoami')
  if (!(who instanceof Failure)) {
    return {
      checks: [readiness, tokenCheck(who), await checkEndpoint(cli), ...(await checkCalls(cli, who))],
      isRefused: false
    }
  }
  if (who.code !== ENTERPRISE_MODE_ONLY)
    return { checks: [readiness, failed('token', who)], isRefused: who.exitCode === EXIT.refused }
  const diagnostics = await request<Diagnostics>(cli, '/api/dashboard/diagnostics')
  const checks = diagnostics instanceof Failure ? [failed('diagnostics', diagnostics)] : diagnostics.checks
  return { checks: [readiness, ...checks], isRefused: false }
}

const tokenCheck = ({ name, role }: Static<typeof User>): Check => ({
  id: 'token',
  status: 'pass',
  title: `Signed in as ${name} (${role})`
})

/** Checks the MCP endpoint with a request without a token, which must be refused. */
async function checkEndpoint(cli: Cli): Promise<Check> {
  const since = performance.now()
  const about = () => ({ id: 'mcp', ms: Math.round(performance.now() - since) })
  try {
    await cli.api.send('POST', '/mcp', {}, { token: null })
    return { ...about(), status: 'fail', title: 'The MCP endpoint requires no token' }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.exitCode === EXIT.refused)
      return { ...about(), status: 'pass', title: 'The MCP endpoint answers and requires a token' }
    return { ...about(), ...failed('mcp', error) }
  }
}

const leftOutCheck = (name: string, count: number): Check => ({
  id: `left_out:${name}`,
  status: 'warn',
  title: leftOutTitle(name, count),
  hint: `run \`towpath get server ${name}\` for the reasons`
})

/** Checks the servers by their calls of the last day, which administrators may see; makes no calls. */
async function checkCalls(cli: Cli, { role }: Static<typeof User>): Promise<Check[]> {
  const servers = await request<readonly Static<typeof Server>[]>(cli, '/api/v0/servers')
  if (servers instanceof Failure) return [failed('servers', servers)]
  const stats = role === 'admin' ? await request<Stats>(cli, '/api/v0/stats?range=24h') : undefined
  if (stats instanceof Failure) return [failed('calls', stats)]
  const strips = new Map(stats?.servers.map((strip) => [strip.server, strip]))
  const leftOut = servers.flatMap(({ name, left_out_count: count }): Check[] =>
    count === undefined ? [] : [leftOutCheck(name, count)]
  )
  const answers = servers.map(({ name, enabled }): Check => {
    const id = `server:${name}`
    if (!enabled) return { id, status: 'pass', title: `${name} is disabled` }
    const { calls = 0, failed: wrong = 0 } = strips.get(name) ?? {}
    if (calls === 0) return { id, status: 'pass', title: `${name} is enabled` }
    const title = `${name}: ${wrong} of ${calls} calls failed in the last 24 hours`
    if (wrong * 2 < calls) return { id, status: 'pass', title }
    return {
      id,
      status: 'warn',
      title,
      hint: `run \`towpath test ${name}\` and \`towpath logs --failed --server ${name}\``
    }
  })
  return [...answers, ...leftOut]
}
