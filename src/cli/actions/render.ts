import type { Static } from '@sinclair/typebox'
import type { PromptResult } from '../../schemas/prompt.ts'
import { isObject } from '../../domain/is-object.ts'
import { formatContents } from '../output/contents.ts'
import { parsePairs } from '../io/input.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'

export const render: Action<{ readonly arg?: readonly string[] }> = async (cli, [name = ''], { arg }) => {
  const body = { name, arguments: Object.fromEntries(parsePairs(arg, '--arg')) }
  const answer = await withSuggestion(
    cli,
    'prompt',
    name,
    cli.api.post<Static<typeof PromptResult>>('/api/v0/prompts/render', body)
  )
  const lines: string[] = []
  for (const message of answer.body.messages.filter(isObject))
    lines.push(`${String(message.role)}: ${await formatContents(cli, [message.content], undefined)}`)
  await cli.show(answer, { table: () => lines.join('\n\n'), names: () => [name] })
}
