import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Role } from '../../domain/access/access.ts'
import { forbidden } from '../../lib/errors.ts'
import { requireAdministrator } from './access-tokens.ts'
import type { Db } from '../model/tables.ts'
import type { WriteContext } from './context.ts'
import { freeUserName } from './new-users.ts'
import { mergeGroups } from './scim-memberships.ts'
import { endSignIns } from './sign-ins.ts'

/** Person whom an identity provider has identified, with the rights that the provider's groups give */
export interface IdentifiedPerson {
  readonly issuer: string
  readonly subject: string
  /** Wanted name of a new user */
  readonly name: string
  readonly displayName: string | null
  readonly email: string | null
  readonly isEmailVerified: boolean
  /** Undefined: the provider says nothing about groups, so that those of a known user stay */
  readonly groups: readonly string[] | undefined
  /** Milliseconds since 1970 at which the provider sent the groups; undefined: just now */
  readonly claimedAt: number | undefined
  /** Ids by which a SCIM client may know the person */
  readonly externalIds: readonly string[]
}

/** Decision about a sign-in that depends on the provider */
export interface SignInRules {
  /** False: only users whom a SCIM client has created may sign in */
  readonly createsUsers: boolean
  /** True: a new person may be the user that a SCIM client or an administrator has created for this id or address */
  readonly joinsUsers: boolean
  /**
   * Returns the role that the groups give; undefined: groups give no roles. Throws for a person who may not sign in.
   * `readAt`: milliseconds since 1970 at which the provider sent those groups; null: they are current.
   */
  readonly admit: (groups: readonly string[], readAt: number | null) => Role | undefined
}

/** Stored user of a person, with the groups that the person would have now */
export interface KnownPerson {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly role_source: 'manual' | 'mapped'
  readonly active: boolean
  readonly stored: readonly string[]
  readonly groups: readonly string[]
  /** As for `SignInRules.admit` */
  readonly readAt: number | null
  /** True if the groups come from the claims */
  readonly isNew: boolean
  /** Milliseconds since 1970 at which a sign-in last read the groups */
  readonly claimsAt: number | null
  /** Time of the last sign-in that was refused; null while the person is admitted */
  readonly refused_at: Date | null
}

export interface SignedInUser {
  readonly id: string
  readonly name: string
  readonly isNew: boolean
}

const momentOf = (ms: number | undefined) =>
  ms === undefined ? sql<Date>`now()` : sql<Date>`to_timestamp(${ms / 1_000}::float8)`

type StoredGroups = Pick<KnownPerson, 'id' | 'stored' | 'claimsAt'>

const columns = [
  ...(['users.id', 'users.name', 'role', 'role_source', 'active', 'source'] as const),
  ...(['groups', 'claims_at', 'refused_at'] as const)
] as const

const fromRow = <T extends { groups: string; claims_at: Date | null }>({ groups, claims_at, ...row }: T) => ({
  ...row,
  stored: JSON.parse(groups) as string[],
  claimsAt: claims_at?.getTime() ?? null
})

const findIdentity = (db: Db, { issuer, subject }: Pick<IdentifiedPerson, 'issuer' | 'subject'>) =>
  db
    .selectFrom('identities')
    .innerJoin('users', 'users.id', 'user_id')
    .select(columns)
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()

type ClaimedGroups = Pick<IdentifiedPerson, 'groups' | 'claimedAt'>

/**
 * Returns the groups that a person claims, unless newer ones are stored: of two tokens the older one may come last, or to
 * another replica.
 */
function newerGroups(user: StoredGroups | undefined, { groups, claimedAt = Infinity }: ClaimedGroups) {
  return claimedAt < (user?.claimsAt ?? 0) ? undefined : groups
}

/** Returns the groups of a user after a sign-in with these claims. */
async function groupsAfter(db: Db, user: StoredGroups | undefined, claims: ClaimedGroups) {
  const claimed = newerGroups(user, claims)
  if (claimed) return { groups: await mergeGroups(db, user?.id, claimed), readAt: null, isNew: true }
  const managed = await mergeGroups(db, user?.id, [])
  const { stored, claimsAt } = user ?? { stored: managed, claimsAt: null }
  // groups that the SCIM client manages are never old
  const isManaged = stored.every((group) => managed.includes(group))
  return { groups: stored, readAt: isManaged ? null : claimsAt, isNew: false }
}

/** Finds the user of a person who has signed in before. */
export async function findPerson(
  db: Db,
  person: Pick<IdentifiedPerson, 'issuer' | 'subject' | keyof ClaimedGroups>
): Promise<KnownPerson | undefined> {
  const row = await findIdentity(db, person)
  if (!row) return undefined
  const user = fromRow(row)
  return { ...user, ...(await groupsAfter(db, user, person)) }
}

type RefusedPerson = Pick<IdentifiedPerson, 'issuer' | 'subject' | 'claimedAt'>

/**
 * Takes from a person what sign-ins gave: the role by groups, the groups and all sign-ins, and personal access tokens
 * until a sign-in is admitted: a wrong setting must not delete those of everybody. Nothing if there is no such user.
 * Throws a 409 AppError if the last administrator would lose the role.
 */
async function takeRights(
  { db, version, recordEffect }: Pick<WriteContext, 'db' | 'version' | 'recordEffect'>,
  person: RefusedPerson
): Promise<void> {
  const known = await findIdentity(db, person)
  if (!known) return
  const { id, role, role_source } = known
  const next = role_source === 'mapped' ? 'user' : role
  const groups = JSON.stringify(await mergeGroups(db, id, []))
  // an older token brings nothing back
  const claims_at = momentOf(person.claimedAt)
  await db
    .updateTable('users')
    .set({ role: next, groups, claims_at, refused_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute()
  await endSignIns({ db, version }, id)
  if (role === 'admin') await requireAdministrator(db, 'the last administrator cannot lose the role')
  const after = { role: next, groups: JSON.parse(groups) as string[] }
  recordEffect({ before: { role }, after: { ...after, sign_ins: 'ended', personal_tokens: 'refused' } })
}

/** Creates the repository of people who sign in, for a write. */
export function createIdentityRepository({ db, version, recordEffect }: WriteContext) {
  /** Returns users who have never signed in, at most two. */
  const findNew = () =>
    db
      .selectFrom('users')
      .select(columns)
      .where((user) =>
        user.not(user.exists(user.selectFrom('identities').select('subject').whereRef('user_id', '=', 'users.id')))
      )
      .limit(2)
  const findUser = async (person: IdentifiedPerson, joinsUsers: boolean) => {
    const { issuer, subject, email, isEmailVerified, externalIds } = person
    const known = await findIdentity(db, person)
    if (known || !joinsUsers) return known
    let found = await findNew().where('source', '=', 'scim').where('external_id', 'in', externalIds).execute()
    // an administrator or the SCIM client set the address
    if (found.length === 0 && email !== null && isEmailVerified) {
      found = await findNew()
        .where(sql`lower(email)`, '=', email.toLowerCase())
        .execute()
    }
    const [user, ...others] = found
    if (!user || others.length > 0) return undefined
    await db.insertInto('identities').values({ issuer, subject, user_id: user.id }).execute()
    return user
  }
  const createUser = async ({ issuer, subject, name: wanted }: IdentifiedPerson, role: Role = 'user') => {
    const id = randomUUID()
    const name = await freeUserName(db, wanted)
    const source = { source: 'jit' as const, role_source: 'mapped' as const }
    await db
      .insertInto('users')
      .values({ id, name, role, ...source, revision: version })
      .execute()
    await db.insertInto('identities').values({ issuer, subject, user_id: id }).execute()
    return { id, name, role, role_source: 'mapped' as const, active: true, source: 'jit' as const }
  }
  return {
    /**
     * Finds or creates the user of a person, and stores what the identity provider said. A person is found by issuer and
     * subject, or once by an id or an e-mail address that a SCIM client or an administrator set. Throws a 403 AppError for
     * a suspended user or one who has to be created first, and a 409 if the last administrator would lose the role.
     */
    async signIn(person: IdentifiedPerson, { createsUsers, joinsUsers, admit }: SignInRules): Promise<SignedInUser> {
      const row = await findUser(person, joinsUsers)
      const found = row && fromRow(row)
      const { groups, readAt, isNew } = await groupsAfter(db, found, person)
      const given = admit(groups, readAt)
      if (!found && !createsUsers) {
        throw forbidden('To sign in, your account must be assigned to this gateway at the identity provider.')
      }
      const user = found ?? (await createUser(person, given))
      const { id, name, active, source } = user
      if (!active) throw forbidden(`the user "${name}" is suspended`)
      const role = user.role_source === 'mapped' ? (given ?? user.role) : user.role
      const { displayName: display_name, email } = person
      await db
        .updateTable('users')
        .set({
          role,
          // the SCIM client writes them; assertions may leave them out
          ...(source !== 'scim' && display_name !== null && { display_name }),
          ...(source !== 'scim' && email !== null && { email }),
          groups: JSON.stringify(groups),
          ...(isNew && { claims_at: momentOf(person.claimedAt) }),
          refused_at: null,
          revision: version
        })
        .where('id', '=', id)
        .execute()
      if (user.role === 'admin' && role !== 'admin') {
        await requireAdministrator(db, 'the last administrator cannot lose the role')
      }
      const wasRefused = (found?.refused_at ?? null) !== null
      recordEffect({
        ...(found && { before: { role: user.role, ...(wasRefused && { personal_tokens: 'refused' }) } }),
        after: { role, groups }
      })
      return { id, name, isNew: found === undefined }
    },

    /** Ends all sign-ins of a user. */
    async endSignIns(userId: string): Promise<void> {
      await endSignIns({ db, version }, userId)
      recordEffect({ after: { sign_ins: 'ended' } })
    },

    /** Takes from a person who may not sign in any more what earlier sign-ins gave; see `takeRights`. */
    refuse: (person: RefusedPerson) => takeRights({ db, version, recordEffect }, person),

    /** Ends all sign-ins of a person whom the identity provider knows; nothing if there is no such user. */
    async endSignInsOf({ issuer, subject }: Pick<IdentifiedPerson, 'issuer' | 'subject'>): Promise<void> {
      const known = await db
        .selectFrom('identities')
        .select('user_id')
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .executeTakeFirst()
      if (!known) return
      await endSignIns({ db, version }, known.user_id)
      recordEffect({ after: { sign_ins: 'ended' } })
    }
  }
}
