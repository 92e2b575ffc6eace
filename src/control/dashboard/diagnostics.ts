import { leftOutTitle } from '../../domain/left-out.ts'
import { startCostCheck } from '../../domain/start-cost.ts'
import type { Check } from '../../schemas/check.ts'
import type { VectorState } from '../../catalog/vectors/tool-vectors.ts'
import type { ServerView } from '../../schemas/dashboard/servers.ts'
import type { DiscoveryTimings, StoredServer } from '../../registry/model/model.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'

/** Largest difference between clocks at which times in lists and tokens can be relied on. */
const CLOCK_MS = 5_000

/** Checks that the database answers and that its clock agrees with the gateway's. */
export async function checkDatabase(ping: () => Promise<number>): Promise<Check[]> {
  const startedAt = performance.now()
  try {
    const clock = await ping()
    const ms = Math.round(performance.now() - startedAt)
    const apart = Math.round(Math.abs(Date.now() - clock))
    const isFar = apart > CLOCK_MS
    return [
      { id: 'database', status: 'pass', title: 'The database answers', ms },
      { id: 'migrations', status: 'pass', title: 'The database schema is up to date' },
      {
        id: 'clock',
        status: isFar ? 'warn' : 'pass',
        title: isFar ? `The clocks of the gateway and the database differ by ${apart} ms` : 'The clocks agree',
        ...(isFar ? { hint: 'Synchronize both with NTP' } : {})
      }
    ]
  } catch {
    const hint = 'Check the gateway log, and that the database is running'
    return [{ id: 'database', status: 'fail', title: 'The database does not answer', hint }]
  }
}

const statusOutcomes: Readonly<Record<ServerView['status'], readonly [Check['status'], string]>> = {
  connected: ['pass', 'answers'],
  connecting: ['warn', 'is being contacted'],
  sign_in_needed: ['fail', 'needs a sign-in'],
  failing: ['fail', 'is failing'],
  disabled: ['pass', 'is disabled'],
  unknown: ['warn', 'has not been contacted yet']
}

const hints: Partial<Record<ServerView['status'], string>> = {
  sign_in_needed: 'Sign in on its page',
  failing: 'Test the connection or edit the settings on its page',
  unknown: 'Test the connection on its page'
}

const formatPart = (what: string, ms: number | undefined) => (ms === undefined ? [] : [`${what} ${Math.round(ms)} ms`])

/** Formats times as in `Start 3 ms, initialize 140 ms, lists 12 ms`. */
function timesText({ start, initialize, lists }: DiscoveryTimings): string {
  const text = [
    ...formatPart('start', start),
    ...formatPart('initialize', initialize),
    ...formatPart('lists', lists)
  ].join(', ')
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

/** Checks a server by its last contact and its last read of the lists; nothing is started for this. */
export function checkServer(
  { name, status, last_error: error }: ServerView,
  took: DiscoveryTimings | undefined
): Check {
  const [outcome, what] = statusOutcomes[status]
  const hint = hints[status]
  const times = took && status === 'connected' ? took : undefined
  const detail = error ?? (times && timesText(times))
  return {
    id: `server:${name}`,
    status: outcome,
    title: `The server ${name} ${what}`,
    ...(detail === undefined ? {} : { detail }),
    ...(hint === undefined ? {} : { hint }),
    ...(times ? { ms: Math.round((times.start ?? 0) + times.initialize + times.lists) } : {})
  }
}

/** Warns about items that were left out of a server's lists. */
export const checkLeftOut = ({ name, left_out_count: count }: ServerView): Check[] =>
  count === 0
    ? []
    : [
        {
          id: `left_out:${name}`,
          status: 'warn',
          title: leftOutTitle(name, count),
          hint: 'See its page for the reasons'
        }
      ]

/** Warns about a server whose starts cost more than its calls. */
export const checkStartCost = ({ name, transport, start_cost: cost }: ServerView): Check[] =>
  cost ? [startCostCheck(name, transport, cost)] : []

/** Checks that the command of a stdio server exists. `find` rejects with UpstreamFailure if not. */
export async function checkCommand(stored: StoredServer, find: (stored: StoredServer) => Promise<unknown>) {
  const { name } = stored
  const id = `command:${name}`
  try {
    await find(stored)
    return { id, status: 'pass', title: `The command of ${name} was found` } satisfies Check
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error
    const hint = 'Install it on the machine of the gateway, or use an absolute path'
    return {
      id,
      status: 'fail',
      title: `The command of ${name} was not found`,
      detail: error.message,
      hint
    } satisfies Check
  }
}

/** Checks the vectors for search; nothing without a model. */
export function checkVectors(state: VectorState | undefined): Check[] {
  if (!state) return []
  const { model, kept, missing, refused, problem } = state
  const counts = `${kept} tools have a vector${missing > 0 ? `, ${missing} are waiting for one` : ''}`
  const detail = refused > 0 ? `${counts}, the endpoint refuses the texts of ${refused}` : counts
  if (problem === undefined)
    return [{ id: 'embeddings', status: 'pass', title: `Search asks the model ${model}`, detail }]
  return [
    {
      id: 'embeddings',
      status: 'warn',
      title: `The embeddings endpoint fails: ${problem}`,
      detail: `${counts}; search goes by words`,
      hint: 'Check TOWPATH_EMBEDDINGS_URL, _MODEL and _KEY, the egress settings, and the log of the endpoint'
    }
  ]
}
