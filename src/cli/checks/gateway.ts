import type { Static } from '@sinclair/typebox'
import { ENTERPRISE_MODE_ONLY } from '../../domain/error-codes.ts'
import { leftOutTitle } from '../../domain/left-out.ts'
import { startCostCheck } from '../../domain/start-cost.ts'
import type { Diagnostics } from '../../schemas/dashboard/diagnostics.ts'
import type { Check, IdentityProviderChecks, SearchChecks } from '../../schemas/check.ts'
import type { User } from '../../schemas/principal.ts'
import type { Server } from '../../schemas/server.ts'
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
      checks: [readiness, tokenCheck(who), ...(await checkParts(cli, who)), ...(await checkServers(cli))],
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

/** Checks of the gateway's parts that it makes itself, by their ids if they fail. */
const ownChecks = { identity_provider: '/api/v0/identity_provider/checks', embeddings: '/api/v0/search/checks' }

/** Lets the gateway check its parts; nothing for users, who may not ask, and for older gateways. */
async function checkParts(cli: Cli, { role }: Static<typeof User>): Promise<readonly Check[]> {
  if (role !== 'admin' && role !== 'auditor') return []
  const found: Check[] = []
  for (const [id, path] of Object.entries(ownChecks)) {
    const answer = await request<Static<typeof IdentityProviderChecks | typeof SearchChecks>>(cli, path)
    if (!(answer instanceof Failure)) found.push(...answer.checks)
    else if (answer.exitCode !== EXIT.notFound) found.push(failed(id, answer))
  }
  return found
}

const leftOutCheck = (name: string, count: number): Check => ({
  id: `left_out:${name}`,
  status: 'warn',
  title: leftOutTitle(name, count),
  hint: `run \`towpath get server ${name}\` for the reasons`
})

type ServerRecord = Static<typeof Server>

const failedCalls = ({ name, health }: ServerRecord): Check | undefined => {
  const { calls = 0, failed: wrong = 0 } = health?.calls_24h ?? {}
  if (wrong === 0 || wrong * 2 < calls) return undefined
  return {
    id: `calls:${name}`,
    status: 'warn',
    title: `${name}: ${wrong} of ${calls} calls failed in the last 24 hours`,
    hint: `run \`towpath test ${name}\` and \`towpath logs --failed --server ${name}\``
  }
}

/** Result and text of each status, and the next step. */
const findings: Readonly<
  Record<NonNullable<ServerRecord['health']>['status'], readonly [Check['status'], string, string?]>
> = {
  connected: ['pass', 'is connected'],
  connecting: ['pass', 'is connecting'],
  sign_in_needed: ['fail', 'needs a sign-in', 'sign in again: `towpath register`, or the dashboard'],
  failing: ['fail', 'is failing', 'run `towpath test NAME` to connect again'],
  disabled: ['pass', 'is disabled'],
  unknown: ['pass', 'has not been contacted yet']
}

const serverCheck = ({ name, health }: ServerRecord): Check => {
  const [status, text, hint] = findings[health?.status ?? 'unknown']
  return {
    id: `server:${name}`,
    status,
    title: `${name} ${text}`,
    ...(health?.last_error === undefined ? {} : { detail: health.last_error }),
    ...(hint === undefined ? {} : { hint: hint.replace('NAME', name) })
  }
}

/** Checks the servers by their last contact and their calls of the last day; contacts none of them. */
async function checkServers(cli: Cli): Promise<Check[]> {
  const servers = await request<readonly ServerRecord[]>(cli, '/api/v0/servers?include=health')
  if (servers instanceof Failure) return [failed('servers', servers)]
  return servers.flatMap((server) => {
    const calls = failedCalls(server)
    const { name, transport, left_out_count: leftOut, start_cost: cost } = server
    return [
      serverCheck(server),
      ...(calls ? [calls] : []),
      ...(leftOut === undefined ? [] : [leftOutCheck(name, leftOut)]),
      ...(cost ? [startCostCheck(name, transport, cost)] : [])
    ]
  })
}
