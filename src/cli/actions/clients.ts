import type { Static } from '@sinclair/typebox'
import type { Client, IssuedClient } from '../../schemas/principal.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import { readObject } from '../io/input.ts'
import { itemPath, KINDS } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { tokenFromFlags, resolveToken } from '../io/secret.ts'
import { recordView } from '../output/views.ts'

interface Flags {
  readonly conf?: string
  readonly allow?: string
  readonly description?: string
  /** False: remove the keys. */
  readonly jwks?: string | false
  readonly jwksUri?: string
  readonly accessToken?: string
  readonly accessTokenStdin?: boolean
}

async function keysFromFlags({ io }: Cli, { jwks, jwksUri }: Flags): Promise<Record<string, unknown>> {
  if (jwks === false) return { jwks: null, jwks_uri: null }
  return {
    ...(jwks === undefined ? {} : { jwks: await readObject(io, jwks).then(({ value }) => value) }),
    ...(jwksUri === undefined ? {} : { jwks_uri: jwksUri })
  }
}

async function fromFlags(cli: Cli, flags: Flags): Promise<Record<string, unknown>> {
  const token = await tokenFromFlags(cli, flags)
  const allowed = flags.allow
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return {
    ...(flags.description === undefined ? {} : { description: flags.description }),
    ...(allowed === undefined ? {} : { allowed_servers: allowed }),
    ...(await keysFromFlags(cli, flags)),
    ...(token === undefined ? {} : { access_token: token })
  }
}

async function read(cli: Cli, givenName: string | undefined, flags: Flags, isNew: boolean) {
  const fromOptions = await fromFlags(cli, flags)
  if (flags.conf !== undefined && Object.keys(fromOptions).length > 0)
    throw usage('with -c only the name can be given in addition: everything else comes from the file')
  const value: Record<string, unknown> =
    flags.conf === undefined ? fromOptions : await resolveToken(cli, await readObject(cli.io, flags.conf), isNew)
  const name = givenName ?? value.name
  if (typeof name !== 'string')
    throw usage('the name of the MCP client is missing', 'pass a name, or a file with "name"')
  return { name, value: { ...value, name } }
}

/** Removes a token that the caller supplied; a generated token is shown once. */
export function withoutGivenToken<T extends { readonly access_token?: string }>(
  body: T,
  given: object
): Omit<T, 'access_token'> | T {
  if (!('access_token' in given)) return body
  const { access_token: _, ...rest } = body
  return rest
}

export const createClient: Action<Flags> = async (cli, [givenName], flags) => {
  const { name, value } = await read(cli, givenName, flags, true)
  const { body } = await cli.api.post<Static<typeof IssuedClient>>(KINDS.client.path, value)
  cli.note(`created MCP client "${name}"`)
  if (!('access_token' in value)) cli.note('the access token is shown only once: save it now')
  const shown = withoutGivenToken(body, value)
  await cli.show({ body: shown }, recordView(shown))
}

export const updateClient: Action<Flags> = async (cli, [givenName], flags) => {
  const { name, value } = await read(cli, givenName, flags, false)
  const request = cli.api.put<Static<typeof Client>>(itemPath('client', name), value)
  const answer = await withSuggestion(cli, 'client', name, request)
  cli.note(`updated MCP client "${name}"`)
  await cli.show(answer, recordView(answer.body))
}
