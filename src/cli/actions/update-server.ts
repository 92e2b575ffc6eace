import type { Static } from '@sinclair/typebox'
import type { Server } from '../../schemas/server.ts'
import { usage } from '../failure.ts'
import { readObject } from '../input.ts'
import { itemPath } from '../kinds.ts'
import { suggesting } from '../lookup.ts'
import type { Action } from '../runner.ts'
import { recordView } from '../views.ts'

export const updateServer: Action<{ readonly conf: string }> = async (cli, [given], { conf }) => {
  const { value, from } = await readObject(cli.world, conf)
  const name = given ?? value.name
  if (typeof name !== 'string') throw usage(`${from} gives no "name"`)
  const sent = cli.api.put<Static<typeof Server>>(itemPath('server', name), { name, ...value })
  const answer = await suggesting(cli, 'server', name, sent)
  cli.note(`updated server "${name}"`)
  await cli.show(answer, recordView(answer.body, name))
}
