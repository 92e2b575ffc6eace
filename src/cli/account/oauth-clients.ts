import type { ConnectedClient, OAuthGrant, OAuthGrantPage, RegisteredClient } from '../../schemas/oauth-client.ts'
import type { Cli } from '../io/cli.ts'
import { notFound } from '../io/failure.ts'
import type { Action } from '../io/runner.ts'
import type { Column } from '../output/records.ts'
import { recordView, rowsView } from '../output/views.ts'

interface OwnerFlags {
  readonly user?: string
}

/** Path of the sign-ins of a user; the caller's own by default. */
const pathOf = ({ user }: OwnerFlags): string =>
  user === undefined ? '/api/v0/me' : `/api/v0/users/${encodeURIComponent(user)}`

const nameOf = ({ name, client_id }: ConnectedClient): string => name ?? client_id
const columns: readonly Column<ConnectedClient>[] = [
  { head: 'id', value: ({ id }) => id, isWide: true },
  { head: 'name', value: nameOf },
  { head: 'endpoints', value: ({ endpoints }) => endpoints.map(({ url }) => url).join(', ') },
  { head: 'connected', value: ({ connected_at }) => connected_at.slice(0, 10) },
  { head: 'renewed', value: ({ renewed_at }) => renewed_at?.slice(0, 10) ?? 'never' },
  { head: 'client id', value: ({ client_id }) => client_id, isWide: true }
]

/** `towpath oauth-client list`. */
export const listClients: Action<OwnerFlags> = async (cli, _args, flags) => {
  const answer = await cli.api.get<readonly ConnectedClient[]>(`${pathOf(flags)}/clients`)
  await cli.show(answer, rowsView(columns, answer.body, nameOf))
}

async function findClient(cli: Cli, wanted: string, flags: OwnerFlags): Promise<ConnectedClient> {
  const { body } = await cli.api.get<readonly ConnectedClient[]>(`${pathOf(flags)}/clients`)
  const byId = body.find(({ id, client_id }) => id === wanted || client_id === wanted)
  const found = byId ?? body.find((each) => nameOf(each) === wanted)
  if (!found) throw notFound(`no OAuth client "${wanted}" is connected`)
  return found
}

/** `towpath oauth-client disconnect`. */
export const disconnectClient: Action<OwnerFlags> = async (cli, [wanted = ''], flags) => {
  const client = await findClient(cli, wanted, flags)
  await cli.api.remove(`${pathOf(flags)}/clients/${client.id}`)
  cli.note(`disconnected "${nameOf(client)}"`)
}

/** `towpath sign-out`. */
export const signOut: Action = async (cli, [user]) => {
  await cli.api.remove(`${pathOf(user === undefined ? {} : { user })}/sessions`)
  cli.note(user === undefined ? 'signed out everywhere' : `signed "${user}" out everywhere`)
}

const registeredColumns: readonly Column<RegisteredClient>[] = [
  { head: 'id', value: ({ id }) => id },
  { head: 'name', value: ({ name }) => name },
  { head: 'approved', value: ({ approved }) => (approved ? 'yes' : 'no') },
  { head: 'registered', value: ({ registered_at }) => registered_at?.slice(0, 10) },
  { head: 'redirects to', value: ({ redirect_uris }) => redirect_uris.join(', '), isWide: true }
]

const REGISTERED = '/api/v0/oauth_clients'

/** `towpath oauth-client registered`. */
export const listRegistered: Action<{ readonly limit: string }> = async (cli, _args, { limit }) => {
  const query = new URLSearchParams({ limit }).toString()
  const answer = await cli.api.get<readonly RegisteredClient[]>(`${REGISTERED}?${query}`)
  await cli.show(
    answer,
    rowsView(registeredColumns, answer.body, ({ id }) => id)
  )
}

interface GrantFlags extends OwnerFlags {
  readonly client?: string
  readonly limit: string
  readonly cursor?: string
}

const grantColumns: readonly Column<OAuthGrant>[] = [
  { head: 'user', value: ({ user }) => user },
  { head: 'name', value: ({ name, client_id }) => name ?? client_id },
  { head: 'scopes', value: ({ endpoints }) => [...new Set(endpoints.flatMap(({ scopes }) => scopes))].join(', ') },
  { head: 'connected', value: ({ connected_at }) => connected_at.slice(0, 10) },
  { head: 'renewed', value: ({ renewed_at }) => renewed_at?.slice(0, 10) ?? 'never' },
  { head: 'client id', value: ({ client_id }) => client_id, isWide: true }
]

/** `towpath oauth-client grants`. */
export const listGrants: Action<GrantFlags> = async (cli, _args, { user, client, limit, cursor }) => {
  const query = new URLSearchParams({
    limit,
    ...(user && { user }),
    ...(client && { client }),
    ...(cursor && { cursor })
  })
  const answer = await cli.api.get<OAuthGrantPage>(`/api/v0/oauth_grants?${query.toString()}`)
  const { grants, next_cursor: next } = answer.body
  await cli.show(
    answer,
    rowsView(grantColumns, grants, ({ user: owner }) => owner)
  )
  if (next !== undefined) cli.note(`more: --cursor ${next}`)
}

/** `towpath oauth-client approve`. */
export const approveClient: Action = async (cli, [id = '']) => {
  const answer = await cli.api.post<RegisteredClient>(`${REGISTERED}/${encodeURIComponent(id)}/approve`)
  cli.note(`people can let "${answer.body.name ?? id}" in`)
  await cli.show(answer, recordView(answer.body, id))
}

/** `towpath oauth-client remove`. */
export const removeRegistered: Action = async (cli, [id = '']) => {
  await cli.api.remove(`${REGISTERED}/${encodeURIComponent(id)}`)
  cli.note(`removed OAuth client "${id}"`)
}
