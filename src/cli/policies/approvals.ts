import { setTimeout as delay } from 'node:timers/promises'
import type { Approval } from '../../schemas/policy.ts'
import type { Cli } from '../io/cli.ts'
import type { Action } from '../io/runner.ts'
import { recordView, rowsView } from '../output/views.ts'

const PATH = '/api/v0/approvals'
const FOLLOW_MS = 2_000

interface ListFlags {
  readonly follow?: boolean
  readonly all?: boolean
}

interface DecisionFlags {
  readonly reason?: string
}

const columns = [
  { head: 'id', value: ({ id }: Approval) => id },
  { head: 'status', value: ({ status }: Approval) => status },
  { head: 'caller', value: ({ caller }: Approval) => caller },
  { head: 'tool', value: ({ server, tool }: Approval) => `${server}__${tool}` },
  { head: 'arguments', value: ({ arguments: args }: Approval) => (args === undefined ? '' : JSON.stringify(args)) },
  { head: 'expires', value: ({ expires_at: at }: Approval) => at },
  { head: 'policy', value: ({ rule }: Approval) => rule, isWide: true }
]

const read = (cli: Cli, all: boolean | undefined) =>
  cli.api.get<readonly Approval[]>(all ? PATH : `${PATH}?status=pending`)

const show = (cli: Cli, rows: readonly Approval[]) =>
  cli.show(
    { body: rows },
    rowsView(columns, rows, ({ id }) => id)
  )

/** Lists calls that wait for a decision; with `--follow` also those that come, until the command is ended. */
export const listApprovals: Action<ListFlags> = async (cli, _args, { follow, all }) => {
  const { body } = await read(cli, all)
  await show(cli, body)
  const seen = new Set(body.map(({ id }) => id))
  const { stdoutClosed } = cli.io
  while (follow && !stdoutClosed?.aborted) {
    await delay(FOLLOW_MS, undefined, stdoutClosed ? { signal: stdoutClosed } : {}).catch(() => {})
    if (stdoutClosed?.aborted) return
    const added = (await read(cli, all)).body.filter(({ id }) => !seen.has(id))
    for (const { id } of added) seen.add(id)
    if (added.length > 0) await show(cli, added)
  }
}

const decide =
  (verb: 'approve' | 'deny', done: string): Action<DecisionFlags> =>
  async (cli, [id = ''], { reason }) => {
    const path = `${PATH}/${encodeURIComponent(id)}`
    const { body: found } = await cli.api.get<Approval>(path)
    const { fingerprint, caller, server, tool } = found
    const answer = await cli.api.post<Approval>(`${path}/${verb}`, { fingerprint, ...(reason && { reason }) })
    cli.note(`${done} the call of ${server}__${tool} by ${caller}`)
    await cli.show(answer, recordView(answer.body, id))
  }

/** Lets a call run that waits for an approval. */
export const approveCall = decide('approve', 'approved')

/** Refuses a call that waits for an approval. */
export const denyCall = decide('deny', 'denied')
