import type { Static } from '@sinclair/typebox'
import type { ResourceContents } from '../../schemas/resource.ts'
import { formatContents } from '../output/contents.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'

export const read: Action<{ readonly save?: string }> = async (cli, [uri = ''], { save }) => {
  const request = cli.api.post<Static<typeof ResourceContents>>('/api/v0/resources/read', { uri })
  const answer = await withSuggestion(cli, 'resource', uri, request)
  const text = await formatContents(cli, answer.body.contents, save)
  await cli.show(answer, { table: () => text, names: () => [uri] })
}
