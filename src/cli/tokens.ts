import { isObject } from '../domain/is-object.ts'
import type { User } from '../schemas/principal.ts'
import type { Static } from '@sinclair/typebox'
import type { Cli } from './cli.ts'
import type { Wanted } from './desired.ts'
import { EXIT, Failure } from './failure.ts'
import { withToken } from './secret.ts'

/** The token that a file gives to a client or user that exists; undefined where its variable is not set. */
async function givenToken(cli: Cli, { given }: Wanted): Promise<string | undefined> {
  const reference = given.value.access_token_ref
  if (isObject(reference) && typeof reference.env === 'string' && !cli.world.env[reference.env]) return undefined
  return (await withToken(cli, given, false)).access_token as string | undefined
}

const isRefused = (error: unknown) => error instanceof Failure && error.exitCode === EXIT.refused

/** A user's token says whose it is. */
async function isUsers(cli: Cli, name: string, token: string): Promise<boolean> {
  try {
    const { body } = await cli.api.send<Static<typeof User>>('GET', '/api/v0/users/whoami', undefined, { token })
    return body.name === name
  } catch (error) {
    if (isRefused(error)) return false
    throw error
  }
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

/** A client's token opens MCP endpoints; whose it is, no answer says. What they say to this request does not matter. */
async function isAnyClients(cli: Cli, token: string): Promise<boolean> {
  try {
    await cli.api.send('POST', '/mcp', ping, { token })
  } catch (error) {
    if (error instanceof Failure && error.exitCode === EXIT.unreachable) throw error
    return !isRefused(error)
  }
  return true
}

/** The token that is to take the place of the present one; undefined where that one stays. */
export async function newToken(cli: Cli, wanted: Wanted): Promise<string | undefined> {
  const token = await givenToken(cli, wanted)
  if (token === undefined) return undefined
  const isGood = wanted.kind === 'user' ? await isUsers(cli, wanted.name, token) : await isAnyClients(cli, token)
  return isGood ? undefined : token
}
