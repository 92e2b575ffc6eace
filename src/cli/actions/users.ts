import type { Static } from '@sinclair/typebox'
import type { Invitation, IssuedUser, User } from '../../schemas/principal.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import { readObject } from '../io/input.ts'
import { itemPath, KINDS } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { tokenFromFlags, resolveToken } from '../io/secret.ts'
import { recordView } from '../output/views.ts'
import { withoutGivenToken } from './clients.ts'

interface Flags {
  readonly conf?: string
  readonly role?: string
  readonly accessToken?: string
  readonly accessTokenStdin?: boolean
}

type IssuedUserRecord = Static<typeof IssuedUser>
type UserRecord = Static<typeof User>

async function read(cli: Cli, givenName: string | undefined, flags: Flags, isNew: boolean) {
  const token = await tokenFromFlags(cli, flags)
  if (flags.conf !== undefined && (token !== undefined || flags.role !== undefined))
    throw usage('with -c only the name can be given in addition: everything else comes from the file')
  const fromOptions = {
    ...(flags.role === undefined ? {} : { role: flags.role }),
    ...(token === undefined ? {} : { access_token: token })
  }
  const value: Record<string, unknown> =
    flags.conf === undefined ? fromOptions : await resolveToken(cli, await readObject(cli.io, flags.conf), isNew)
  const name = givenName ?? value.name
  if (typeof name !== 'string') throw usage('the name of the user is missing', 'pass a name, or a file with "name"')
  return { name, value: { ...value, name } as Record<string, unknown> }
}

async function showUser(cli: Cli, body: IssuedUserRecord, given: object): Promise<void> {
  if (!('access_token' in given)) cli.note('the access token is shown only once: save it now')
  const shown = withoutGivenToken(body, given)
  await cli.show({ body: shown }, recordView(shown))
}

export const createUser: Action<Flags> = async (cli, [givenName], flags) => {
  const { name, value } = await read(cli, givenName, flags, true)
  const { body } = await cli.api.post<IssuedUserRecord>(KINDS.user.path, value)
  cli.note(`created user "${name}"`)
  await showUser(cli, body, value)
}

export const updateUser: Action<Flags> = async (cli, [givenName], flags) => {
  const { name, value } = await read(cli, givenName, flags, false)
  const { access_token, role } = value
  if (role !== undefined) {
    const answer = await withSuggestion(
      cli,
      'user',
      name,
      cli.api.put<UserRecord>(`${itemPath('user', name)}/role`, { role })
    )
    cli.note(`user "${name}" has the role ${answer.body.role}`)
    if (access_token === undefined) return cli.show(answer, recordView(answer.body))
  }
  const token = access_token === undefined ? {} : { access_token }
  const { body } = await withSuggestion(cli, 'user', name, cli.api.put<IssuedUserRecord>(itemPath('user', name), token))
  cli.note(`rotated the token of user "${name}"`)
  await showUser(cli, body, token)
}

/** `towpath suspend` and `towpath resume`. */
export const switchUser =
  (verb: 'suspend' | 'resume'): Action =>
  async (cli, [name]) => {
    const request = cli.api.post<UserRecord>(`${itemPath('user', name!)}/${verb}`, {})
    const answer = await withSuggestion(cli, 'user', name!, request)
    cli.note(`${verb === 'suspend' ? 'suspended' : 'resumed'} user "${name}"`)
    await cli.show(answer, recordView(answer.body))
  }

type InvitationRecord = Static<typeof Invitation>

/** `towpath invite user`. */
export const inviteUser: Action<Pick<Flags, 'role'>> = async (cli, [name], { role }) => {
  const body = role === undefined ? {} : { role }
  const answer = await cli.api.post<InvitationRecord>(`${itemPath('user', name!)}/invite`, body)
  cli.note(answer.body.created ? `created and invited user "${name}"` : `invited user "${name}"`)
  cli.note('the link is shown only once, and works once: send it to that person alone')
  await cli.show(answer, recordView(answer.body))
}
