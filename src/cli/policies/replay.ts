import { qualifiedName } from '../../domain/names.ts'
import type { ChangedCalls, PolicyReplayResult } from '../../schemas/policy.ts'
import { usage } from '../io/failure.ts'
import { readObjects } from '../io/input.ts'
import { localTime, momentOf } from '../io/moments.ts'
import type { Action } from '../io/runner.ts'
import { rowsView } from '../output/views.ts'

interface Flags {
  readonly conf?: string
  readonly without?: string
  readonly since?: string
}

const itemOf = ({ kind, server, item = '' }: ChangedCalls): string =>
  server === undefined || kind === 'resource' ? item : qualifiedName(server, item)

const columns = [
  {
    head: 'change',
    value: ({ change }: ChangedCalls) => change,
    colour: ({ change }: ChangedCalls) => (change === 'denied' ? ('red' as const) : undefined)
  },
  { head: 'caller', value: ({ caller }: ChangedCalls) => caller },
  { head: 'item', value: itemOf },
  { head: 'endpoint', value: ({ endpoint }: ChangedCalls) => endpoint },
  { head: 'calls', value: ({ calls }: ChangedCalls) => String(calls) },
  { head: 'last', value: ({ last_at }: ChangedCalls) => localTime(last_at) },
  { head: 'policy', value: ({ policy }: ChangedCalls) => policy },
  { head: 'oauth client', value: ({ oauth_client }: ChangedCalls) => oauth_client, isWide: true },
  { head: 'scopes', value: ({ scopes }: ChangedCalls) => scopes, isWide: true },
  { head: 'last id', value: ({ last_id }: ChangedCalls) => last_id, isWide: true }
]

/** Shows which logged calls a change of the policies would deny or allow. */
export const replayPolicies: Action<Flags> = async (cli, _args, { conf, without, since }) => {
  if (conf === undefined && without === undefined)
    throw usage('give policies with -c, or --without the names of stored ones')
  const added = conf === undefined ? undefined : (await readObjects(cli.io, conf)).map(({ value }) => value)
  const answer = await cli.api.post<PolicyReplayResult>('/api/v0/policies/replay', {
    with: added,
    without: without?.split(',').map((name) => name.trim()),
    from: momentOf(since, '--since')
  })
  const { changes, changes_cut, calls, complete, from, denied, allowed, unknown } = answer.body
  await cli.show(answer, rowsView(columns, changes, itemOf))
  const reach = complete ? '' : ', where a limit ended the replay'
  cli.note(`of ${calls} calls since ${localTime(from)}${reach}: ${denied} newly denied, ${allowed} newly allowed`)
  if (unknown > 0) cli.note(`${unknown} depend on arguments that were not recorded`)
  if (changes_cut) cli.note('not all changes are listed')
}
