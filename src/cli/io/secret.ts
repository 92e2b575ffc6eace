import { readFile } from 'node:fs/promises'
import { isObject } from '../../domain/is-object.ts'
import type { Cli } from './cli.ts'
import { EXIT, Failure, usage } from './failure.ts'
import { readStdin, type InputObject } from './input.ts'

const withoutNewline = (text: string) => text.replace(/\r?\n$/, '')

/** Reads a secret from stdin. */
export async function secretFromStdin(cli: Cli, flag: string): Promise<string> {
  const secret = withoutNewline(await readStdin(cli.io))
  if (secret === '') throw usage(`${flag}: stdin is empty`)
  return secret
}

/** Accepts a secret from the command line, as MCPJungle does, with a warning: other local users can see it. */
export function secretFromArgument(cli: Cli, secret: string, instead: string): string {
  cli.warn('a secret on the command line is visible to other users and stays in the shell history', instead)
  return secret
}

interface TokenFlags {
  readonly accessToken?: string
  readonly accessTokenStdin?: boolean
}

/** Returns the access token given by flags; undefined if none. */
export async function tokenFromFlags(cli: Cli, flags: TokenFlags): Promise<string | undefined> {
  if (flags.accessToken !== undefined && flags.accessTokenStdin)
    throw usage('use either --access-token or --access-token-stdin')
  if (flags.accessTokenStdin) return secretFromStdin(cli, '--access-token-stdin')
  if (flags.accessToken === undefined) return undefined
  return secretFromArgument(cli, flags.accessToken, 'use --access-token-stdin')
}

async function tokenFromFile(path: string, from: string): Promise<string> {
  try {
    return withoutNewline(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new Failure(EXIT.usage, `${from}: cannot read the file in "access_token_ref": ${path}`, { cause })
  }
}

function tokenFromEnv({ io }: Cli, name: string, from: string): string {
  const value = io.env[name]
  if (!value) throw usage(`${from}: the variable in "access_token_ref" is not set: ${name}`, `export ${name}=…`)
  return value
}

/**
 * Replaces `access_token_ref`, which names a local file or variable, with `access_token`
 * (http-contract.md#clients-and-users).
 */
export async function resolveToken(
  cli: Cli,
  { value, from }: InputObject,
  isNeeded: boolean
): Promise<Record<string, unknown>> {
  const { access_token_ref: reference, ...rest } = value
  if (reference === undefined) {
    if (isNeeded && rest.access_token === undefined)
      throw usage(`${from} has no token`, 'set "access_token_ref": {"file": …} or {"env": …}')
    return rest
  }
  if (rest.access_token !== undefined) throw usage(`${from} has both "access_token" and "access_token_ref"`)
  const { file, env } = isObject(reference) ? reference : {}
  if (typeof file === 'string' && env === undefined) return { ...rest, access_token: await tokenFromFile(file, from) }
  if (typeof env === 'string' && file === undefined) return { ...rest, access_token: tokenFromEnv(cli, env, from) }
  throw usage(`${from}: "access_token_ref" must have either "file" or "env"`)
}
