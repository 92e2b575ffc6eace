import type { Static } from '@sinclair/typebox'
import type { ResourceContents } from '../../schemas/resource.ts'
import { asText } from '../contents.ts'
import { suggesting } from '../lookup.ts'
import type { Action } from '../runner.ts'

export const read: Action<{ readonly save?: string }> = async (cli, [uri = ''], { save }) => {
  const sent = cli.api.post<Static<typeof ResourceContents>>('/api/v0/resources/read', { uri })
  const answer = await suggesting(cli, 'resource', uri, sent)
  const text = await asText(cli, answer.body.contents, save)
  await cli.show(answer, { table: () => text, names: () => [uri] })
}
