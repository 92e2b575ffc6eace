import type { Static } from '@sinclair/typebox'
import type { Refresh } from '../../schemas/server.ts'
import type { Cli } from '../io/cli.ts'
import { itemPath } from '../io/kinds.ts'
import { noteLeftOut, withoutLeftOut } from '../output/left-out.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { recordView } from '../output/views.ts'

const read = (cli: Cli, name: string) =>
  withSuggestion(
    cli,
    'server',
    name,
    cli.api.post<Static<typeof Refresh>>(`${itemPath('server', name)}/refresh`, undefined, {
      reason: `reading the lists of ${name}`
    })
  )

export const refresh: Action = async (cli, [name = '']) => {
  const answer = await read(cli, name)
  const { added, removed, changed } = answer.body
  cli.note(`server "${name}": ${added.length} added, ${removed.length} removed, ${changed.length} changed`)
  noteLeftOut(cli, answer.body)
  await cli.show(answer, recordView(withoutLeftOut(answer.body)))
}

/** Makes the gateway connect and read the lists, as a call would require. */
export const testServer: Action = async (cli, [name = '']) => {
  const began = performance.now()
  const answer = await read(cli, name)
  cli.note(`server "${name}" answers (${Math.round(performance.now() - began)} ms)`)
  await cli.show(answer, recordView(answer.body))
}
