import type { Registration } from '../../domain/import/entry.ts'
import type { Cli } from '../io/cli.ts'
import { Failure } from '../io/failure.ts'
import { KINDS } from '../io/kinds.ts'
import { isFatal } from '../apply/exit-codes.ts'
import { noteStarts, type StartingServer } from '../output/start-costs.ts'
import type { MergedServer } from './merge.ts'
import { serverRow, type ServerRow } from './view.ts'

/** Returns why a server is not registered; undefined if it can be. */
export function plannedOutcome(server: MergedServer): 'new' | 'exists' | 'disabled' | 'unusable' {
  if (server.problems.length > 0) return 'unusable'
  if (!server.isEnabled) return 'disabled'
  return server.isRegistered ? 'exists' : 'new'
}

/** Returns true if clients can use the server through the gateway. */
export const isServed = ({ outcome }: ServerRow) => outcome === 'added' || outcome === 'exists'

/** Registers a server under the first spelling of its address that it accepts. */
async function register(cli: Cli, [registration, ...others]: readonly Registration[]): Promise<StartingServer> {
  try {
    return (await cli.api.post<StartingServer>(KINDS.server.path, registration)).body
  } catch (error) {
    if (others.length === 0 || !(error instanceof Failure) || isFatal(error)) throw error
    return register(cli, others)
  }
}

/** Registers the chosen servers; a failure does not stop the others, unless it would repeat. */
export async function registerServers(
  cli: Cli,
  servers: readonly MergedServer[],
  chosen: ReadonlySet<MergedServer>
): Promise<ServerRow[]> {
  const rows: ServerRow[] = []
  const added: StartingServer[] = []
  for (const server of servers) {
    const outcome = plannedOutcome(server)
    if (outcome !== 'new' || !chosen.has(server)) {
      rows.push(
        serverRow(server, outcome === 'new' || (outcome === 'exists' && !chosen.has(server)) ? 'not_chosen' : outcome)
      )
      continue
    }
    try {
      added.push(await register(cli, [server.registration, ...server.alternatives]))
      cli.note(`registered server "${server.name}"`)
      rows.push(serverRow(server, 'added'))
    } catch (error) {
      if (!(error instanceof Failure) || isFatal(error)) throw error
      const reason = error.message.replace(`server "${server.name}": `, '')
      cli.warn(`server "${server.name}" stays in its clients: ${reason}`, error.hint)
      rows.push(serverRow(server, 'failed', reason))
    }
  }
  noteStarts(cli, added)
  return rows
}
