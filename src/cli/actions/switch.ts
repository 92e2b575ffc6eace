import type { Static } from '@sinclair/typebox'
import type { ServerState } from '../../schemas/server.ts'
import { PRODUCT } from '../../domain/product.ts'
import { withQuery } from '../io/api.ts'
import { usage } from '../io/failure.ts'
import { itemPath, KINDS } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { nearest } from '../output/suggest.ts'
import { namesView } from '../output/views.ts'

type Verb = 'enable' | 'disable'

const kinds = ['server', 'tool', 'prompt', 'resource', 'skill'] as const

export const switchOf =
  (verb: Verb, kind: (typeof kinds)[number]): Action =>
  async (cli, [name = '']) => {
    const done = `${verb}d`
    if (kind === 'server') {
      const request = cli.api.post<Static<typeof ServerState>>(`${itemPath('server', name)}/${verb}`)
      const answer = await withSuggestion(cli, kind, name, request)
      const { tools_affected, prompts_affected } = answer.body
      cli.note(`${done} server "${name}": ${tools_affected.length} tools, ${prompts_affected.length} prompts`)
      return cli.show(answer, namesView([...tools_affected, ...prompts_affected]))
    }
    const request = cli.api.post<readonly string[]>(withQuery(`${KINDS[kind].path}/${verb}`, { entity: name }))
    const answer = await withSuggestion(cli, kind, name, request)
    cli.note(`${done} ${answer.body.length} ${answer.body.length === 1 ? kind : KINDS[kind].plural}`)
    await cli.show(answer, namesView(answer.body))
  }

/** `enable NAME` as in MCPJungle: a tool, or all tools of a server. */
export const switchBare =
  (verb: Verb): Action =>
  async (cli, args) => {
    const [name, ...more] = args
    if (name === undefined || more.length > 0) {
      const suggestion = name === undefined ? undefined : nearest(name, kinds)
      throw usage(
        `${verb} needs a kind and a name`,
        `${PRODUCT} ${verb} ${suggestion ?? kinds.join('|')} ${more[0] ?? 'NAME'}`
      )
    }
    cli.note(`interpreted as: ${PRODUCT} ${verb} tool ${name}`)
    return switchOf(verb, 'tool')(cli, args, {})
  }
