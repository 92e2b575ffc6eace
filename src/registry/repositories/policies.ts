import { sql } from 'kysely'
import {
  POLICY_LIMITS,
  type ApprovalSettings,
  type PolicyRule,
  type PolicySubjects,
  type PolicyTargets
} from '../../domain/policy/rule.ts'
import { AppError, conflict, notFound } from '../../lib/errors.ts'
import { isUniqueViolation } from '../store/failures.ts'
import type { StoredPolicy } from '../model/model.ts'
import type { Db } from '../model/tables.ts'
import type { WriteContext } from './context.ts'

/** Policies read by one statement, so that no query is unbounded */
const CHUNK_SIZE = 500

const ruleColumns = [
  'enabled',
  'mode',
  'effect',
  'everyone',
  'subjects',
  'targets',
  'condition',
  'require_scopes',
  'reason',
  'approval'
] as const

const toColumns = ({ enabled, mode, effect, everyone, subjects, targets, when, ...rule }: PolicyRule) => ({
  enabled,
  mode,
  effect,
  everyone,
  subjects: JSON.stringify(subjects),
  targets: JSON.stringify(targets),
  condition: when,
  require_scopes: JSON.stringify(rule.requireScopes),
  reason: rule.reason,
  approval: JSON.stringify(rule.approval ?? {})
})

const fromColumns = ({
  condition,
  subjects,
  targets,
  require_scopes: scopes,
  approval,
  ...row
}: ReturnType<typeof toColumns>) => ({
  ...row,
  subjects: JSON.parse(subjects) as PolicySubjects,
  targets: JSON.parse(targets) as PolicyTargets,
  when: condition,
  requireScopes: JSON.parse(scopes) as string[],
  ...(approval !== '{}' && { approval: JSON.parse(approval) as ApprovalSettings })
})

/** Returns a rule's members for the audit log, without its name and with the lists beside the others. */
const auditedMembers = ({ name: _name, subjects, targets, requireScopes, approval, ...members }: PolicyRule) => {
  const { annotations, ...lists } = targets
  return {
    ...members,
    ...(requireScopes.length > 0 && { require_scopes: requireScopes }),
    ...subjects,
    ...lists,
    ...(annotations && { annotations: JSON.stringify(annotations) }),
    ...(approval && { approval: JSON.stringify(approval) })
  }
}

/** Creates the repository of policies for a write. Methods throw a 404 AppError for an unknown name. */
export function createPolicyRepository({ db, version, recordEffect }: WriteContext) {
  const countAndEnd = () =>
    db
      .selectFrom('policies')
      .select((policies) => [
        policies.fn.countAll<string>().as('count'),
        sql<number>`coalesce(max(position), 0)`.as('last')
      ])
      .executeTakeFirstOrThrow()
  const forgetCounts = (name: string) => db.deleteFrom('policy_counts').where('policy', '=', name).execute()
  return {
    /**
     * Inserts a policy after all others. Throws a 409 AppError if the name is taken or there are too many; the
     * transaction is then aborted, so the error must propagate.
     */
    async create(rule: PolicyRule): Promise<void> {
      const { count, last } = await countAndEnd()
      if (Number(count) >= POLICY_LIMITS.policies)
        throw new AppError(409, `there are already ${POLICY_LIMITS.policies} policies`)
      try {
        await db
          .insertInto('policies')
          .values({ name: rule.name, position: last + 1, ...toColumns(rule), revision: version })
          .execute()
      } catch (error) {
        throw isUniqueViolation(error, 'policies_pkey') ? conflict('policy', rule.name) : error
      }
      recordEffect({ after: auditedMembers(rule) })
    },

    /** Replaces the policy with that name. Writes nothing if nothing differs. */
    async replace(rule: PolicyRule): Promise<void> {
      const { name } = rule
      const before = await db.selectFrom('policies').select(ruleColumns).where('name', '=', name).executeTakeFirst()
      if (!before) throw notFound('policy', name)
      const columns = toColumns(rule)
      if (ruleColumns.every((column) => before[column] === columns[column])) return
      await db
        .updateTable('policies')
        .set({ ...columns, revision: version })
        .where('name', '=', name)
        .execute()
      await forgetCounts(name)
      recordEffect({ before: auditedMembers({ name, ...fromColumns(before) }), after: auditedMembers(rule) })
    },

    async remove(name: string): Promise<void> {
      const before = await db.deleteFrom('policies').where('name', '=', name).returning(ruleColumns).executeTakeFirst()
      if (!before) throw notFound('policy', name)
      await forgetCounts(name)
      recordEffect({ before: auditedMembers({ name, ...fromColumns(before) }) })
    }
  }
}

/** Returns all policies by position; those in `known` with an unchanged revision are not read again. */
export async function readPolicies(db: Db, known: readonly StoredPolicy[] = []): Promise<StoredPolicy[]> {
  const policies = new Map(known.map((policy) => [policy.name, policy]))
  const revisions = await db.selectFrom('policies').select(['name', 'revision']).execute()
  const stale = revisions
    .filter(({ name, revision }) => policies.get(name)?.revision !== revision)
    .map(({ name }) => name)
  for (let at = 0; at < stale.length; at += CHUNK_SIZE) {
    for (const policy of await readChunk(db, stale.slice(at, at + CHUNK_SIZE))) policies.set(policy.name, policy)
  }
  return revisions.map(({ name }) => policies.get(name)!).toSorted((a, b) => a.position - b.position)
}

async function readChunk(db: Db, names: readonly string[]): Promise<StoredPolicy[]> {
  const rows = await db
    .selectFrom('policies')
    .select(['name', 'position', 'revision', ...ruleColumns])
    .where(sql<boolean>`name = any(${names}::text[])`)
    .execute()
  return rows.map(({ name, position, revision, ...row }) => ({ name, ...fromColumns(row), position, revision }))
}
