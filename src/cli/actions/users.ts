import type { Static } from '@sinclair/typebox'
import type { IssuedUser } from '../../schemas/principal.ts'
import type { Cli } from '../cli.ts'
import { usage } from '../failure.ts'
import { readObject } from '../input.ts'
import { itemPath, KINDS } from '../kinds.ts'
import { suggesting } from '../lookup.ts'
import type { Action } from '../runner.ts'
import { tokenFromFlags, withToken } from '../secret.ts'
import { recordView } from '../views.ts'
import { withoutGiven } from './clients.ts'

interface Flags {
  readonly conf?: string
  readonly role?: string
  readonly accessToken?: string
  readonly accessTokenStdin?: boolean
}

type Issued = Static<typeof IssuedUser>

async function read(cli: Cli, given: string | undefined, flags: Flags, isNew: boolean) {
  const token = await tokenFromFlags(cli, flags)
  if (flags.conf !== undefined && (token !== undefined || flags.role !== undefined))
    throw usage('-c takes everything from the file: give nothing else but the name')
  const own = {
    ...(flags.role === undefined ? {} : { role: flags.role }),
    ...(token === undefined ? {} : { access_token: token })
  }
  const value: Record<string, unknown> =
    flags.conf === undefined ? own : await withToken(cli, await readObject(cli.world, flags.conf), isNew)
  const name = given ?? value.name
  if (typeof name !== 'string') throw usage('which user?', 'give the name, or a file with "name"')
  return { name, value: { ...value, name } as Record<string, unknown> }
}

async function tell(cli: Cli, body: Issued, given: object): Promise<void> {
  if (!('access_token' in given)) cli.note('the access token is shown this once: keep it')
  const told = withoutGiven(body, given)
  await cli.show({ body: told }, recordView(told))
}

export const createUser: Action<Flags> = async (cli, [given], flags) => {
  const { name, value } = await read(cli, given, flags, true)
  const { body } = await cli.api.post<Issued>(KINDS.user.path, value)
  cli.note(`created user "${name}"`)
  await tell(cli, body, value)
}

export const updateUser: Action<Flags> = async (cli, [given], flags) => {
  const { name, value } = await read(cli, given, flags, false)
  const { access_token } = value
  const token = access_token === undefined ? {} : { access_token }
  const { body } = await suggesting(cli, 'user', name, cli.api.put<Issued>(itemPath('user', name), token))
  cli.note(`the token of user "${name}" is a new one`)
  await tell(cli, body, token)
}
