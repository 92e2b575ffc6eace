import type { Static } from '@sinclair/typebox'
import type { AccessToken, Account, IssuedAccessToken } from '../../schemas/access-token.ts'
import type { Cli } from '../io/cli.ts'
import { notFound, usage } from '../io/failure.ts'
import type { Column } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { recordView, rowsView } from '../output/views.ts'

type Token = Static<typeof AccessToken>

const OWN = '/api/v0/me/tokens'
const DAY_MS = 86_400_000

const nameOf = ({ name, kind }: Token): string => name ?? kind
const columns: readonly Column<Token>[] = [
  { head: 'id', value: ({ id }) => id, isWide: true },
  { head: 'name', value: (token) => `${nameOf(token)}${token.current ? ' (in use)' : ''}` },
  { head: 'scopes', value: ({ scopes }) => scopes?.join(', ') ?? 'all' },
  { head: 'expires', value: ({ expires_at }) => expires_at?.slice(0, 10) ?? 'never' },
  { head: 'last used', value: ({ last_used_on }) => last_used_on ?? 'never' },
  { head: 'created', value: ({ created_at }) => created_at.slice(0, 10), isWide: true }
]

interface OwnerFlags {
  readonly user?: string
}

/** Path of the tokens of a user; the caller's own by default. */
const pathOf = ({ user }: OwnerFlags): string =>
  user === undefined ? OWN : `/api/v0/users/${encodeURIComponent(user)}/tokens`

/** Reads an expiry: days (`90d`), an ISO 8601 date or time, or `never`, for which it returns undefined. */
export function expiryOf(text: string, now = Date.now()): string | undefined {
  if (text === 'never') return undefined
  const days = /^(\d{1,5})d$/.exec(text)?.[1]
  const isDate = /^\d{4}-\d\d-\d\d/.test(text)
  const ms = days === undefined ? (isDate ? Date.parse(text) : NaN) : now + Number(days) * DAY_MS
  if (!Number.isFinite(ms)) throw usage(`--expires accepts 90d, an ISO 8601 time or never, not "${text}"`)
  return new Date(ms).toISOString()
}

interface CreateFlags {
  readonly scopes: string
  readonly expires: string
}

/** `towpath token list`. */
export const listTokens: Action<OwnerFlags> = async (cli, _args, flags) => {
  const answer = await cli.api.get<readonly Token[]>(pathOf(flags))
  await cli.show(answer, rowsView(columns, answer.body, nameOf))
}

/** `towpath token create`. */
export const createToken: Action<CreateFlags> = async (cli, [name], { scopes, expires }) => {
  const expires_at = expiryOf(expires)
  const answer = await cli.api.post<Static<typeof IssuedAccessToken>>(OWN, {
    name,
    scopes: scopes.split(',').map((scope) => scope.trim()),
    ...(expires_at === undefined ? {} : { expires_at })
  })
  cli.note(`created access token "${name}"`)
  cli.note('the access token is shown only once: save it now')
  await cli.show(answer, recordView(answer.body))
}

async function findToken(cli: Cli, wanted: string, flags: OwnerFlags): Promise<Token> {
  const { body } = await cli.api.get<readonly Token[]>(pathOf(flags))
  const found = body.find(({ id }) => id === wanted) ?? body.find((token) => nameOf(token) === wanted)
  if (!found) throw notFound(`access token "${wanted}" does not exist`)
  return found
}

/** `towpath token revoke`. */
export const revokeToken: Action<OwnerFlags> = async (cli, [wanted], flags) => {
  const token = await findToken(cli, wanted!, flags)
  await cli.api.remove(`${pathOf(flags)}/${token.id}`)
  cli.note(`revoked access token "${nameOf(token)}"`)
}

/** `towpath whoami`. */
export const whoami: Action = async (cli) => {
  const answer = await cli.api.get<Static<typeof Account>>('/api/v0/me')
  const { token, sign_in, ...account } = answer.body
  const { scopes, expires_at } = token ?? sign_in ?? {}
  const used = token ? { token: nameOf(token) } : { sign_in: sign_in?.client_id ?? 'browser' }
  const shown = { ...account, ...used, scopes: scopes ?? 'all', expires: expires_at ?? 'never' }
  await cli.show(answer, recordView(shown))
}
