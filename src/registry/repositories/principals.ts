import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Role } from '../../domain/access/access.ts'
import type { KeySet } from '../../domain/access/client-keys.ts'
import { AppError, conflict, notFound } from '../../lib/errors.ts'
import { addToken, requireAdministrator, tokenColumns, toStoredToken } from './access-tokens.ts'
import type { WriteContext } from './context.ts'
import { isUniqueViolation } from '../store/failures.ts'
import { endSignIns } from './sign-ins.ts'
import type { ClientConfig, StoredClient, StoredPrincipal, StoredToken, StoredUser } from '../model/model.ts'
import type { Db } from '../model/tables.ts'

/** Principals read by one statement, so that no query is unbounded */
const CHUNK_SIZE = 1_000

/** Name of the administrator created by initialisation */
export const FIRST_ADMIN = 'admin'

export interface UserConfig {
  readonly name: string
  readonly role: Role
}

/** Changes to a client; absent members stay as they are */
export interface ClientUpdate extends Partial<Omit<ClientConfig, 'name'>> {
  readonly tokenHash?: Uint8Array | undefined
}

const auditedToken = (hash: Uint8Array | undefined) => (hash ? { access_token: Buffer.from(hash).toString('hex') } : {})

type ClientRow = Pick<ClientConfig, 'description' | 'jwks_uri'> & {
  readonly allowed_servers: string
  readonly jwks: string | null
}

const clientColumns = ['description', 'allowed_servers', 'jwks', 'jwks_uri'] as const

const fromRow = ({ description, allowed_servers, jwks, jwks_uri }: ClientRow): Omit<ClientConfig, 'name'> => ({
  description,
  allowed_servers: JSON.parse(allowed_servers) as string[],
  jwks: jwks === null ? null : (JSON.parse(jwks) as KeySet),
  jwks_uri
})

const toRow = ({ description, allowed_servers, jwks, jwks_uri }: Omit<ClientConfig, 'name'>): ClientRow => ({
  description,
  allowed_servers: JSON.stringify(allowed_servers),
  jwks: jwks && JSON.stringify(jwks),
  jwks_uri
})

/** Returns a client's configuration for the audit log. */
const audited = ({ jwks, jwks_uri, ...config }: Omit<ClientConfig, 'name'>) => ({
  ...config,
  ...(jwks && { jwks }),
  ...(jwks_uri !== null && { jwks_uri })
})

function createUserRepository({ db, version, recordEffect }: WriteContext) {
  const createUser = async ({ name, role }: UserConfig, tokenHash: Uint8Array): Promise<void> => {
    const id = randomUUID()
    try {
      await db.insertInto('users').values({ id, name, role, revision: version }).execute()
    } catch (error) {
      throw isUniqueViolation(error, 'users_name_key') ? conflict('user', name) : error
    }
    await addToken(db, { user_id: id }, tokenHash)
    recordEffect({ after: { role, ...auditedToken(tokenHash) } })
  }

  return {
    createUser,

    /** Creates the first administrator. Of several concurrent calls one succeeds, the others throw a 409 AppError. */
    async initialize(tokenHash: Uint8Array): Promise<void> {
      const { numUpdatedRows } = await db
        .updateTable('gateway')
        .set({ initialized_at: sql<Date>`now()` })
        .where('initialized_at', 'is', null)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows === 0n) throw new AppError(409, 'the server is already initialized')
      await createUser({ name: FIRST_ADMIN, role: 'admin' }, tokenHash)
    },

    /** Replaces a user's static token, keeps personal tokens and the role, and returns the role. Throws a 404 AppError. */
    async replaceUserToken(name: string, tokenHash: Uint8Array): Promise<UserConfig['role']> {
      const user = await db
        .updateTable('users')
        .set({ revision: version })
        .where('name', '=', name)
        .returning(['id', 'role'])
        .executeTakeFirst()
      if (!user) throw notFound('user', name)
      const before = await db
        .deleteFrom('access_tokens')
        .where('user_id', '=', user.id)
        .where('kind', '=', 'static')
        .returning('hash')
        .executeTakeFirst()
      await addToken(db, { user_id: user.id }, tokenHash)
      recordEffect({ before: auditedToken(before?.hash), after: auditedToken(tokenHash) })
      return user.role
    },

    /**
     * Removes a user. Throws a 404 AppError, and a 409 for the last administrator, since nobody could create another.
     */
    async removeUser(name: string): Promise<void> {
      const removed = await db.deleteFrom('users').where('name', '=', name).returning('role').executeTakeFirst()
      if (!removed) throw notFound('user', name)
      if (removed.role === 'admin') await requireAdministrator(db, 'the last administrator cannot be removed')
      recordEffect({ before: removed })
    },

    /**
     * Changes the role of a user; returns false for a suspended one. Writes nothing if nothing differs. Throws a 404
     * AppError, and a 409 for the last administrator.
     */
    async changeRole(name: string, role: Role): Promise<boolean> {
      const before = await db.selectFrom('users').select(['role', 'active']).where('name', '=', name).executeTakeFirst()
      if (!before) throw notFound('user', name)
      if (before.role === role) return before.active
      await db
        .updateTable('users')
        .set({ role, role_source: 'manual', revision: version })
        .where('name', '=', name)
        .execute()
      if (before.role === 'admin') {
        await requireAdministrator(db, 'the role of the last administrator cannot be changed')
      }
      recordEffect({ before: { role: before.role }, after: { role } })
      return before.active
    },

    /**
     * Suspends or resumes a user, and returns the role. Writes nothing if nothing differs. Throws a 404 AppError, and a
     * 409 for the last administrator.
     */
    async setActive(name: string, active: boolean): Promise<Role> {
      const user = await db
        .selectFrom('users')
        .select(['id', 'role', 'active'])
        .where('name', '=', name)
        .executeTakeFirst()
      if (!user) throw notFound('user', name)
      if (user.active !== active) {
        await setUserActive({ db, version }, user, active)
        recordEffect({ before: { active: user.active }, after: { active } })
      }
      return user.role
    }
  }
}

/**
 * Suspends or resumes a user. What a suspended user has open ends, and a resumed one signs in again. Throws a 409 AppError
 * for the last administrator.
 */
export async function setUserActive(
  { db, version }: Pick<WriteContext, 'db' | 'version'>,
  { id, role }: { readonly id: string; readonly role: Role },
  active: boolean
): Promise<void> {
  await db.updateTable('users').set({ active, revision: version }).where('id', '=', id).execute()
  if (active) return
  await endSignIns({ db, version }, id)
  await db.deleteFrom('invites').where('user_id', '=', id).execute()
  if (role === 'admin') await requireAdministrator(db, 'the last administrator cannot be suspended')
}

function createClientRepository({ db, version, recordEffect }: WriteContext) {
  return {
    async createClient({ name, ...config }: ClientConfig, tokenHash: Uint8Array): Promise<void> {
      const id = randomUUID()
      try {
        await db
          .insertInto('clients')
          .values({ id, name, ...toRow(config), revision: version })
          .execute()
      } catch (error) {
        throw isUniqueViolation(error, 'clients_name_key') ? conflict('client', name) : error
      }
      await addToken(db, { client_id: id }, tokenHash)
      recordEffect({ after: { ...audited(config), ...auditedToken(tokenHash) } })
    },

    /** Updates a client and returns its configuration. Writes nothing if nothing differs. Throws a 404 AppError. */
    async updateClient(name: string, { tokenHash, ...changes }: ClientUpdate): Promise<ClientConfig> {
      const found = await db
        .selectFrom('clients')
        .innerJoin('access_tokens', 'client_id', 'clients.id')
        .select(['clients.id', ...clientColumns, 'hash'])
        .where('clients.name', '=', name)
        .executeTakeFirst()
      if (!found) throw notFound('client', name)
      const before = fromRow(found)
      const after = { ...before, ...changes }
      const isNewToken = tokenHash !== undefined && !Buffer.from(found.hash).equals(tokenHash)
      if (isDeepStrictEqual(before, after) && !isNewToken) return { name, ...after }
      if (isNewToken) {
        await db.deleteFrom('access_tokens').where('client_id', '=', found.id).execute()
        await addToken(db, { client_id: found.id }, tokenHash)
      }
      await db
        .updateTable('clients')
        .set({ ...toRow(after), revision: version })
        .where('id', '=', found.id)
        .execute()
      recordEffect({
        before: { ...audited(before), ...auditedToken(found.hash) },
        after: { ...audited(after), ...auditedToken(tokenHash ?? found.hash) }
      })
      return { name, ...after }
    },

    async removeClient(name: string): Promise<void> {
      const removed = await db
        .deleteFrom('clients')
        .where('name', '=', name)
        .returning(clientColumns)
        .executeTakeFirst()
      if (!removed) throw notFound('client', name)
      recordEffect({ before: audited(fromRow(removed)) })
    }
  }
}

/**
 * Creates the repository of users and clients for a write. Uniqueness is enforced by constraints: a 409 aborts the
 * transaction.
 */
export const createPrincipalRepository = (context: WriteContext) => ({
  ...createUserRepository(context),
  ...createClientRepository(context)
})

/**
 * Returns users, then clients, each ordered by name; those in `known` with an unchanged revision are not read again.
 */
export async function readPrincipals(db: Db, known: readonly StoredPrincipal[] = []): Promise<StoredPrincipal[]> {
  const revisions = await db
    .selectFrom('users')
    .select(['id', 'revision', sql<boolean>`true`.as('isUser')])
    .unionAll(db.selectFrom('clients').select(['id', 'revision', sql<boolean>`false`.as('isUser')]))
    .execute()
  const principals = new Map(known.map((principal) => [principal.id, principal]))
  const stale = revisions.filter(({ id, revision }) => principals.get(id)?.revision !== revision)
  for (const [read, ofUsers] of [[readUsers, true] as const, [readClients, false] as const]) {
    const ids = stale.filter(({ isUser }) => isUser === ofUsers).map(({ id }) => id)
    for (let at = 0; at < ids.length; at += CHUNK_SIZE) {
      for (const principal of await read(db, ids.slice(at, at + CHUNK_SIZE))) principals.set(principal.id, principal)
    }
  }
  return revisions.map(({ id }) => principals.get(id)!).toSorted(comparePrincipals)
}

const rank = ({ kind }: StoredPrincipal) => (kind === 'client' ? 1 : 0)
const comparePrincipals = (a: StoredPrincipal, b: StoredPrincipal) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)

async function readUsers(db: Db, ids: readonly string[]): Promise<StoredUser[]> {
  const rows = await db
    .selectFrom('users')
    .select(['id', 'name', 'role', 'active', 'revision', 'source', 'role_source', 'display_name', 'email', 'groups'])
    .select(['sessions_valid_from', 'claims_at', 'refused_at'])
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  const tokens = new Map<string, StoredToken[]>(rows.map(({ id }) => [id, []]))
  const found = await db
    .selectFrom('access_tokens')
    .select(['user_id', ...tokenColumns])
    .where(sql<boolean>`user_id = any(${ids}::uuid[])`)
    .execute()
  for (const { user_id, ...token } of found) tokens.get(user_id!)!.push(toStoredToken(token))
  return rows.map(
    ({ id, role, role_source, display_name, groups, sessions_valid_from, claims_at, refused_at, ...row }) => ({
      id,
      ...row,
      kind: role,
      roleSource: role_source,
      displayName: display_name,
      groups: JSON.parse(groups) as string[],
      sessionsValidFrom: sessions_valid_from?.getTime() ?? null,
      claimsAt: claims_at?.getTime() ?? null,
      tokens: refused_at === null ? tokens.get(id)! : tokens.get(id)!.filter(({ kind }) => kind === 'static')
    })
  )
}

async function readClients(db: Db, ids: readonly string[]): Promise<StoredClient[]> {
  const rows = await db
    .selectFrom('clients')
    .innerJoin('access_tokens', 'client_id', 'clients.id')
    .select(['clients.id as clientId', 'clients.name as clientName', 'revision', ...clientColumns])
    .select(tokenColumns)
    .where(sql<boolean>`clients.id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(({ clientId, clientName, revision, ...row }) => ({
    ...{ id: clientId, name: clientName, revision, ...fromRow(row) },
    kind: 'client',
    tokens: [toStoredToken(row)]
  }))
}
