import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { ruleRecord } from '../../domain/policy/input.ts'
import type { PolicyRule } from '../../domain/policy/rule.ts'
import type { Db } from '../model/tables.ts'
import { withErrorTranslation } from '../store/failures.ts'

/** Calls that an observed policy has matched since it is as it is. */
export interface PolicyCount {
  readonly calls: number
  /** Calls that would have been answered differently if the policy were enforced */
  readonly changed: number
  readonly since: Date
  readonly lastAt: Date
}

/** Counts of observed policies, added up over all replicas. */
export interface PolicyCounts {
  /** Counts a call; returns at once and never throws. */
  record(rule: PolicyRule, isChanged: boolean): void
  /** Returns the counts of these rules as they are now, by their names. */
  read(rules: readonly PolicyRule[]): Promise<ReadonlyMap<string, PolicyCount>>
  /** Called after counts have been stored */
  onStored: (() => void) | null
  /** Stores what is not stored yet. */
  close(): Promise<void>
}

/** Counts are stored after this time: pages hear of them at most once a second. */
const DELAY_MS = 1_000
const RETRY_MS = 5_000

interface Waiting {
  hash: Buffer
  calls: number
  changed: number
  firstAt: number
  lastAt: number
}

const hashes = new WeakMap<PolicyRule, Buffer>()

/** Returns the hash of a rule: counts of a rule that was changed are not those of its policy. */
function hashOf(rule: PolicyRule): Buffer {
  let hash = hashes.get(rule)
  if (!hash) {
    hash = createHash('sha256')
      .update(JSON.stringify(ruleRecord(rule)))
      .digest()
    hashes.set(rule, hash)
  }
  return hash
}

/** Adds counts to those of the same rule, and replaces those of an older one. In the order of names: no deadlock. */
async function store(db: Db, waiting: ReadonlyMap<string, Waiting>): Promise<void> {
  const rows = [...waiting]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([policy, { hash, calls, changed, firstAt, lastAt }]) => ({
      ...{ policy, rule_hash: hash, calls: String(calls), changed: String(changed) },
      ...{ since: new Date(firstAt), last_at: new Date(lastAt) }
    }))
  await db
    .insertInto('policy_counts')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('policy').doUpdateSet({
        calls: sql`excluded.calls + case when policy_counts.rule_hash = excluded.rule_hash then policy_counts.calls else 0 end`,
        changed: sql`excluded.changed + case when policy_counts.rule_hash = excluded.rule_hash then policy_counts.changed else 0 end`,
        since: sql`case when policy_counts.rule_hash = excluded.rule_hash then policy_counts.since else excluded.since end`,
        last_at: sql`greatest(policy_counts.last_at, excluded.last_at)`,
        rule_hash: sql`excluded.rule_hash`
      })
    )
    .execute()
}

async function read(db: Db, rules: readonly PolicyRule[]): Promise<ReadonlyMap<string, PolicyCount>> {
  if (rules.length === 0) return new Map()
  const byName = new Map(rules.map((rule) => [rule.name, rule]))
  const rows = await db
    .selectFrom('policy_counts')
    .selectAll()
    .where(sql<boolean>`policy = any(${[...byName.keys()]}::text[])`)
    .execute()
  const current = rows.filter(({ policy, rule_hash: hash }) => hashOf(byName.get(policy)!).equals(hash))
  return new Map(
    current.map(({ policy, calls, changed, since, last_at: lastAt }) => [
      policy,
      { calls: Number(calls), changed: Number(changed), since, lastAt }
    ])
  )
}

/** Creates the counts. `onError`: called once per outage. */
export function createPolicyCounts(db: Db, onError: (error: unknown) => void): PolicyCounts {
  let waiting = new Map<string, Waiting>()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isDown = false
  let isClosed = false

  const schedule = (delayMs: number) => {
    if (!isClosed) timer ??= setTimeout(() => void flush(), delayMs).unref()
  }
  const flush = () => {
    timer = undefined
    running ??= write().finally(() => {
      running = undefined
      if (waiting.size > 0) schedule(isDown ? RETRY_MS : DELAY_MS)
    })
    return running
  }
  const write = async () => {
    if (waiting.size === 0) return
    const rows = waiting
    waiting = new Map()
    try {
      await withErrorTranslation(() => store(db, rows))
      isDown = false
      counts.onStored?.()
    } catch (error) {
      if (!isDown) onError(error)
      isDown = true
      for (const [name, row] of rows) add(name, row)
    }
  }
  const add = (name: string, row: Waiting) => {
    const known = waiting.get(name)
    if (!known?.hash.equals(row.hash)) {
      // an older rule does not replace a newer one
      if (!known || known.lastAt <= row.lastAt) waiting.set(name, row)
      return
    }
    known.calls += row.calls
    known.changed += row.changed
    known.firstAt = Math.min(known.firstAt, row.firstAt)
    known.lastAt = Math.max(known.lastAt, row.lastAt)
  }
  const counts: PolicyCounts = {
    record(rule, isChanged) {
      const now = Date.now()
      add(rule.name, { hash: hashOf(rule), calls: 1, changed: Number(isChanged), firstAt: now, lastAt: now })
      schedule(DELAY_MS)
    },
    read: (rules) => withErrorTranslation(() => read(db, rules)),
    onStored: null,
    async close() {
      isClosed = true
      clearTimeout(timer)
      await running
      await write()
    }
  }
  return counts
}
