import type { Static } from '@sinclair/typebox'
import type { AuditEntry, AuditPage } from '../../schemas/audit.ts'
import { withQuery } from '../io/api.ts'
import { localTime, momentOf } from '../io/moments.ts'
import type { Colour, Column } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { rowsView } from '../output/views.ts'

type Entry = Static<typeof AuditEntry>

const outcomeColours: Readonly<Record<string, Colour>> = { refused: 'yellow', failed: 'red', begun: 'dim' }
const columns: readonly Column<Entry>[] = [
  { head: 'at', value: ({ at }) => localTime(at), colour: () => 'dim' },
  { head: 'actor', value: ({ actor, actor_kind }) => actor || actor_kind },
  { head: 'address', value: ({ address }) => address, isWide: true },
  { head: 'action', value: ({ action }) => action },
  { head: 'outcome', value: ({ outcome }) => outcome, colour: ({ outcome }) => outcomeColours[outcome] },
  { head: 'target', value: ({ target }) => target },
  { head: 'purpose', value: ({ purpose }) => purpose, isWide: true },
  { head: 'failure', value: ({ failure }) => failure, isWide: true },
  { head: 'fingerprint', value: ({ fingerprint }) => fingerprint?.slice(0, 12), isWide: true },
  { head: 'reason', value: ({ reason }) => reason, isWide: true }
]

type Flags = Readonly<
  Record<'actor' | 'action' | 'target' | 'outcome' | 'from' | 'to' | 'before' | 'limit' | 'since', string>
>

export const audit: Action<Partial<Flags>> = async (cli, _args, flags) => {
  const { actor, action, target, outcome, to, before, limit, since } = flags
  const from = momentOf(since, '--since') ?? flags.from
  const query = { actor, action, target, outcome, from, to, before, limit }
  const answer = await cli.api.get<Static<typeof AuditPage>>(withQuery('/api/v0/audit', query))
  const { entries, next_before } = answer.body
  await cli.show(
    answer,
    rowsView(columns, entries.toReversed(), ({ id }) => id)
  )
  if (next_before !== undefined) cli.note(`more entries: --before ${next_before}`)
}
