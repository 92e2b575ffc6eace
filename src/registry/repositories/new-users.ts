import type { PolicySubjects } from '../../domain/policy/rule.ts'
import { AppError } from '../../lib/errors.ts'
import type { Db } from '../model/tables.ts'

const MAX_NAME = 64
const MAX_USERS = 100_000

/** Returns a name that users may have, from any text. */
export function toUserName(text: string): string {
  const local = text.includes('@') ? text.slice(0, text.indexOf('@')) : text
  const name = local
    .normalize('NFKD')
    .replace(/[^\w-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/gi, '')
  return name.slice(0, MAX_NAME - 6) || 'user'
}

/** Returns the names of users that policies mention, whether somebody has them or not. */
async function namesInPolicies(db: Db): Promise<readonly string[]> {
  const policies = await db.selectFrom('policies').select('subjects').execute()
  return policies.flatMap(({ subjects }) => (JSON.parse(subjects) as PolicySubjects).users ?? [])
}

/**
 * Returns a name that no user has and no policy mentions, from any text: a person must not come into the rights of
 * another by a name. Throws a 409 AppError if there are too many users.
 */
export async function freeUserName(db: Db, wanted: string): Promise<string> {
  const { count } = await db
    .selectFrom('users')
    .select((users) => users.fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow()
  if (Number(count) >= MAX_USERS) throw new AppError(409, `there are already ${MAX_USERS} users`)
  const base = toUserName(wanted)
  const taken = await db
    .selectFrom('users')
    .select('name')
    .where('name', 'like', `${base.replace(/[\\%_]/g, '\\$&')}%`)
    .execute()
  const names = new Set([...taken.map(({ name }) => name), ...(await namesInPolicies(db))])
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}-${number}`
    if (!names.has(name)) return name
  }
}
