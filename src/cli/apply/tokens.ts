import { isObject } from '../../domain/is-object.ts'
import type { User } from '../../schemas/principal.ts'
import type { Static } from '@sinclair/typebox'
import type { Cli } from '../io/cli.ts'
import type { DesiredResource } from './desired.ts'
import { EXIT, Failure } from '../io/failure.ts'
import { resolveToken } from '../io/secret.ts'

/** Returns the token declared for an existing client or user; undefined if its variable is not set. */
async function desiredToken(cli: Cli, { input }: DesiredResource): Promise<string | undefined> {
  const reference = input.value.access_token_ref
  if (isObject(reference) && typeof reference.env === 'string' && !cli.io.env[reference.env]) return undefined
  return (await resolveToken(cli, input, false)).access_token as string | undefined
}

const isRefused = (error: unknown) => error instanceof Failure && error.exitCode === EXIT.refused

/** True if the token belongs to the user. */
async function isTokenOfUser(cli: Cli, name: string, token: string): Promise<boolean> {
  try {
    const { body } = await cli.api.send<Static<typeof User>>('GET', '/api/v0/users/whoami', undefined, { token })
    return body.name === name
  } catch (error) {
    if (isRefused(error)) return false
    throw error
  }
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

/**
 * True if the token belongs to any client: MCP endpoints accept it but do not name the client. Errors other than a
 * refusal do not matter.
 */
async function isTokenOfClient(cli: Cli, token: string): Promise<boolean> {
  try {
    await cli.api.send('POST', '/mcp', ping, { token })
  } catch (error) {
    if (error instanceof Failure && error.exitCode === EXIT.unreachable) throw error
    return !isRefused(error)
  }
  return true
}

/** Returns the token that replaces the current one; undefined if the current one stays. */
export async function replacementToken(cli: Cli, desired: DesiredResource): Promise<string | undefined> {
  const token = await desiredToken(cli, desired)
  if (token === undefined) return undefined
  const isGood =
    desired.kind === 'user' ? await isTokenOfUser(cli, desired.name, token) : await isTokenOfClient(cli, token)
  return isGood ? undefined : token
}
