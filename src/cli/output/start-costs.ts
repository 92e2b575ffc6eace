import type { Static } from '@sinclair/typebox'
import { PRODUCT } from '../../domain/product.ts'
import { startCostText } from '../../domain/start-cost.ts'
import type { Server } from '../../schemas/server.ts'
import type { Cli } from '../io/cli.ts'

/** Members of a registration's answer that tell how often the server will start. */
export type StartingServer = Pick<Static<typeof Server>, 'name' | 'transport' | 'session_mode' | 'start_cost'>

/** Tells how the session mode of new servers is chosen, if some of them start for each call, and whose starts are slow. */
export function noteStarts(cli: Cli, added: readonly StartingServer[]): void {
  const slow = added.flatMap(({ name, transport, start_cost: cost }) =>
    cost ? [`${name}: ${startCostText(transport, cost)}`] : []
  )
  if (slow.length > 0) cli.note(`starts look expensive: ${slow.join('; ')}`)
  if (slow.length > 0 || added.some((server) => server.transport === 'stdio' && server.session_mode === 'stateless'))
    cli.note(
      `each call starts a stdio server anew; \`${PRODUCT} update server NAME --session-mode stateful\` keeps one process for each client, \`shared\` one for all`
    )
}
