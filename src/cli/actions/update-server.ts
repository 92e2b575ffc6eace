import type { Server, ServerInput } from '../../schemas/server.ts'
import type { Static } from '@sinclair/typebox'
import type { Cli } from '../io/cli.ts'
import { notFound, usage } from '../io/failure.ts'
import { readObject, type InputObject } from '../io/input.ts'
import { itemPath } from '../io/kinds.ts'
import { isPending, type PendingSignIn } from '../io/sign-in.ts'
import { suggestName, withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { setSwitches, splitSwitches } from '../apply/switches.ts'
import { recordView } from '../output/views.ts'

interface Flags {
  readonly conf?: string
  readonly sessionMode?: string
}

/** Returns the present configuration of a server with another session mode. */
async function withMode(cli: Cli, name: string | undefined, session_mode: string): Promise<InputObject> {
  if (name === undefined)
    throw usage('the name of the server is missing', 'towpath update server NAME --session-mode …')
  const { body } = await cli.api.get<readonly ServerInput[]>('/api/v0/server_configs')
  const config = body.find((each) => each.name === name)
  if (!config) throw notFound(`server "${name}" does not exist`, await suggestName(cli, 'server', name))
  return { from: 'the gateway', value: { ...config, session_mode } }
}

/** `towpath update server`: replaces a configuration by that of a file, or changes the session mode alone. */
export const updateServer: Action<Flags> = async (cli, [givenName], { conf, sessionMode }) => {
  if ((conf === undefined) === (sessionMode === undefined)) throw usage('use either -c FILE or --session-mode MODE')
  const read = conf === undefined ? withMode(cli, givenName, sessionMode!) : readObject(cli.io, conf)
  const { input, switches } = splitSwitches(await read)
  const { value, from } = input
  const name = givenName ?? value.name
  if (typeof name !== 'string') throw usage(`${from} has no "name"`)
  const request = cli.api.put<Static<typeof Server> | PendingSignIn>(itemPath('server', name), { name, ...value })
  const replaced = await withSuggestion(cli, 'server', name, request)
  if (isPending(replaced.body)) {
    const { authorization_url: url } = replaced.body.authorization_required
    cli.warn(`server "${name}" is unchanged until somebody has signed in: ${url}`)
    return cli.show({ body: replaced.body }, recordView(replaced.body, name))
  }
  await setSwitches(cli, name, switches)
  const answer = switches ? await cli.api.get<Static<typeof Server>>(itemPath('server', name)) : replaced
  cli.note(`updated server "${name}"`)
  await cli.show(answer, recordView(answer.body, name))
}
