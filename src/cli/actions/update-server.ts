import type { Static } from '@sinclair/typebox'
import type { Server } from '../../schemas/server.ts'
import { usage } from '../io/failure.ts'
import { readObject } from '../io/input.ts'
import { itemPath } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { setSwitches, splitSwitches } from '../apply/switches.ts'
import { recordView } from '../output/views.ts'

export const updateServer: Action<{ readonly conf: string }> = async (cli, [givenName], { conf }) => {
  const { input, switches } = splitSwitches(await readObject(cli.io, conf))
  const { value, from } = input
  const name = givenName ?? value.name
  if (typeof name !== 'string') throw usage(`${from} has no "name"`)
  const request = cli.api.put<Static<typeof Server>>(itemPath('server', name), { name, ...value })
  const replaced = await withSuggestion(cli, 'server', name, request)
  await setSwitches(cli, name, switches)
  const answer = switches ? await cli.api.get<Static<typeof Server>>(itemPath('server', name)) : replaced
  cli.note(`updated server "${name}"`)
  await cli.show(answer, recordView(answer.body, name))
}
