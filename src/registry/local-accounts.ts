import { hash as digest, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Role } from '../domain/access/access.ts'
import { AppError, forbidden } from '../lib/errors.ts'
import type { Expiry } from './logs/expiry.ts'
import type { Db } from './model/tables.ts'
import { withErrorTranslation } from './store/failures.ts'
import type { WriteContext } from './repositories/context.ts'
import { endSignIns } from './repositories/sign-ins.ts'

/** Failures in a row before a pause: of one name from one network, and of one name from everywhere */
const MAX_FAILURES = { name: 100, nameAndNetwork: 10 } as const
/** Length of a pause; failures that are further apart are not counted together */
const PAUSE = sql<Date>`now() + interval '15 minutes'`
const INVITE_LIFE = sql<Date>`now() + interval '48 hours'`

export interface Invitation {
  readonly role: Role
  /** True if the user was created */
  readonly isNew: boolean
  readonly expiresAt: Date
}

/** User who can sign in with a password */
export interface LocalAccount {
  readonly userId: string
  readonly name: string
  readonly role: Role
  readonly active: boolean
  /** Salt and hash of the password, with their parameters */
  readonly hash: string
}

export type InvitedUser = Pick<LocalAccount, 'userId' | 'name' | 'role'>

/** Only the SHA-256 of the code in the link of an invitation is stored; the code is random and long. */
const hashCode = (code: string): Buffer => digest('sha256', code, 'buffer')

/** Creates the repository of invitations and passwords for a write. */
export function createLocalAccountRepository({ db, version, recordEffect }: WriteContext) {
  const createUser = async (name: string, role: Role) => {
    const id = randomUUID()
    await db.insertInto('users').values({ id, name, role, source: 'local', revision: version }).execute()
    return { id, role, active: true }
  }
  const findUser = (name: string) =>
    db
      .selectFrom('users')
      .select(['id', 'role', 'active', 'source'])
      .select((users) =>
        users
          .exists(users.selectFrom('identities').select('subject').whereRef('user_id', '=', 'users.id'))
          .as('hasIdentity')
      )
      .where('name', '=', name)
      .executeTakeFirst()
  return {
    /**
     * Replaces the invitation of a user, who is created if there is none. Throws a 409 AppError for a suspended user,
     * for one with another role, and for one who signs in at an identity provider: the password would go on working when
     * the provider no longer lets the person in.
     */
    async invite(name: string, role: Role | undefined, code: string): Promise<Invitation> {
      const found = await findUser(name)
      if (found && (found.hasIdentity || found.source === 'jit' || found.source === 'scim')) {
        throw new AppError(409, `the user "${name}" signs in at the identity provider`)
      }
      const user = found ?? (await createUser(name, role ?? 'user'))
      if (!user.active) throw new AppError(409, `the user "${name}" is suspended`)
      if (role !== undefined && role !== user.role) {
        throw new AppError(409, `the user "${name}" has the role ${user.role}`)
      }
      const hash = hashCode(code)
      const { expires_at: expiresAt } = await db
        .insertInto('invites')
        .values({ hash, user_id: user.id, expires_at: INVITE_LIFE })
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ hash, expires_at: INVITE_LIFE }))
        .returning('expires_at')
        .executeTakeFirstOrThrow()
      recordEffect({ after: { ...(found ? {} : { role: user.role }), invite_expires_at: expiresAt.toISOString() } })
      return { role: user.role, isNew: !found, expiresAt }
    },

    /**
     * Sets the password of an invited user, whose invitation is used up; sign-ins with an earlier password end. Throws a
     * 400 AppError for an invitation that is unknown, used or expired.
     */
    async setPassword(code: string, passwordHash: string): Promise<void> {
      const invite = await db
        .deleteFrom('invites')
        .where('hash', '=', hashCode(code))
        .where('expires_at', '>', sql<Date>`now()`)
        .returning('user_id')
        .executeTakeFirst()
      if (!invite) throw invalidInvite()
      const { user_id } = invite
      const { active, name } = await db
        .selectFrom('users')
        .select(['active', 'name'])
        .where('id', '=', user_id)
        .executeTakeFirstOrThrow()
      if (!active) throw forbidden(`the user "${name}" is suspended`)
      const { numDeletedRows } = await db
        .deleteFrom('local_credentials')
        .where('user_id', '=', user_id)
        .executeTakeFirst()
      await db.insertInto('local_credentials').values({ user_id, hash: passwordHash }).execute()
      const isChanged = numDeletedRows > 0n
      if (isChanged) await endSignIns({ db, version }, user_id)
      recordEffect({ after: { password: isChanged ? 'changed' : 'set' } })
    }
  }
}

export const invalidInvite = (): AppError =>
  new AppError(400, 'This invitation is not valid any more. Ask an administrator for another one.')

/** Accounts with passwords outside of writes */
export interface LocalAccountStore {
  find(name: string): Promise<LocalAccount | undefined>
  /** Returns the user of an unexpired invitation. */
  findInvited(code: string): Promise<InvitedUser | undefined>
  /**
   * Counts an attempt before the password is checked, so that concurrent ones count as well; for any name, known or not.
   * Returns the seconds of the pause if the attempt is not allowed.
   */
  countAttempt(name: string, network: string): Promise<number | undefined>
  /** Forgets the failures of a name after a sign-in. */
  forgetFailures(name: string, network: string): Promise<void>
}

const keysOf = (name: string, network: string) => ({
  name: digest('sha256', name, 'buffer'),
  nameAndNetwork: digest('sha256', `${network} ${name}`, 'buffer')
})

/** Counts an attempt; returns the seconds until the next one is allowed if this is one too many. */
async function countOne(db: Db, hash: Uint8Array, limit: number): Promise<number | undefined> {
  const { count, seconds } = await db
    .insertInto('sign_in_failures')
    .values({ hash, count: 1, until: PAUSE })
    .onConflict((conflict) =>
      conflict.column('hash').doUpdateSet({
        count: sql<number>`case when sign_in_failures.until <= now() then 1
          else least(sign_in_failures.count, ${limit}) + 1 end`,
        until: sql<Date>`case when sign_in_failures.until > now() and sign_in_failures.count >= ${limit}
          then sign_in_failures.until else ${PAUSE} end`
      })
    )
    .returning(['count', sql<number>`ceil(extract(epoch from until - now()))::integer`.as('seconds')])
    .executeTakeFirstOrThrow()
  return count > limit ? Math.max(1, seconds) : undefined
}

export const createLocalAccountStore = (db: Db): LocalAccountStore => ({
  find: (name) =>
    withErrorTranslation(() =>
      db
        .selectFrom('users')
        .innerJoin('local_credentials', 'user_id', 'users.id')
        .select(['users.id as userId', 'name', 'role', 'active', 'hash'])
        .where('name', '=', name)
        .executeTakeFirst()
    ),
  findInvited: (code) =>
    withErrorTranslation(() =>
      db
        .selectFrom('invites')
        .innerJoin('users', 'users.id', 'user_id')
        .select(['users.id as userId', 'name', 'role'])
        .where('hash', '=', hashCode(code))
        .where('active', '=', true)
        .where('expires_at', '>', sql<Date>`now()`)
        .executeTakeFirst()
    ),
  countAttempt: (name, network) =>
    withErrorTranslation(async () => {
      const keys = keysOf(name, network)
      // attempts in a pause of the network do not count for the name, or one network could pause it everywhere
      return (
        (await countOne(db, keys.nameAndNetwork, MAX_FAILURES.nameAndNetwork)) ??
        (await countOne(db, keys.name, MAX_FAILURES.name))
      )
    }),
  async forgetFailures(name, network) {
    const keys = keysOf(name, network)
    await withErrorTranslation(() =>
      db.deleteFrom('sign_in_failures').where('hash', 'in', [keys.name, keys.nameAndNetwork]).execute()
    )
  }
})

/** Deletes rows of failures that no longer count. */
export const signInFailureExpiry: Expiry = {
  advisoryLock: 7_203_406,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows } = await sql`
      delete from sign_in_failures where hash in
        (select hash from sign_in_failures where until < now() limit ${limit})`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
}
