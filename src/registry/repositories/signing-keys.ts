import { createHash, generateKeyPairSync } from 'node:crypto'
import { sql } from 'kysely'
import { decryptJson, encryptJson } from '../crypto/server-secrets.ts'
import type { MasterKeys } from '../crypto/envelope-encryption.ts'
import type { SigningKey } from '../model/model.ts'
import type { Db } from '../model/tables.ts'
import { withErrorTranslation } from '../store/failures.ts'
import type { WriteContext } from './context.ts'

/** Days in which a key signs, days before them in which it is published already, days after them in which it verifies */
const SIGNS_DAYS = 90
const PUBLISHED_DAYS = 1
const VERIFIES_DAYS = 1

export type PrivateJwk = Readonly<Record<string, unknown>>

/** Private key with the time from which it signs, in milliseconds since 1970 */
export interface PrivateSigningKey {
  readonly kid: string
  readonly jwk: PrivateJwk
  readonly signsFrom: number
}

const locationOf = (kid: string) => ({ table: 'signing_keys', row: kid, column: 'sealed' })

/** Returns a new key pair for ES256 with the thumbprint of RFC 7638 as its id. */
function newKeyPair() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = privateKey.export({ format: 'jwk' })
  const { crv, kty, x, y } = jwk
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
  const members = { kty, crv, x, y, kid, use: 'sig', alg: 'ES256' }
  return { kid, publicJwk: members, privateJwk: { ...members, d: jwk.d } }
}

/** Creates the repository of the keys that sign access tokens, for a write. */
export function createSigningKeyRepository({ db, encryptionKeys, recordEffect }: WriteContext) {
  const add = async (days: number): Promise<string> => {
    const { kid, publicJwk, privateJwk } = newKeyPair()
    const signsFrom = sql<Date>`now() + make_interval(days => ${days}::int)`
    await db
      .insertInto('signing_keys')
      .values({
        kid,
        sealed: encryptJson(encryptionKeys(), privateJwk, locationOf(kid)),
        public_jwk: JSON.stringify(publicJwk),
        signs_from: signsFrom,
        verifies_until: sql<Date>`now() + make_interval(days => ${days + SIGNS_DAYS + PUBLISHED_DAYS + VERIFIES_DAYS}::int)`
      })
      .execute()
    recordEffect({ after: { kid } })
    return kid
  }
  return {
    /** Adds the keys that are due: the first one, or the next one a day before it signs. Deletes those that ended. */
    async ensure(): Promise<void> {
      await db
        .deleteFrom('signing_keys')
        .where('verifies_until', '<', sql<Date>`now()`)
        .execute()
      const { count, isDue } = await db
        .selectFrom('signing_keys')
        .select((keys) => [
          keys.fn.countAll<string>().as('count'),
          sql<boolean>`max(signs_from) < now() - make_interval(days => ${SIGNS_DAYS - PUBLISHED_DAYS}::int)`.as('isDue')
        ])
        .executeTakeFirstOrThrow()
      if (Number(count) === 0) await add(0)
      else if (isDue) await add(PUBLISHED_DAYS)
    },

    /**
     * Adds a key that signs at once, and returns its id. The older ones verify for another day; with `revoke` they are
     * deleted.
     */
    async rotate(revoke: boolean): Promise<string> {
      if (revoke) await db.deleteFrom('signing_keys').execute()
      const end = sql<Date>`least(verifies_until, now() + make_interval(days => ${VERIFIES_DAYS}::int))`
      await db.updateTable('signing_keys').set({ verifies_until: end }).execute()
      return add(0)
    }
  }
}

/** Returns the public keys, the newest first; the same array as `known` if nothing differs. */
export async function readSigningKeys(db: Db, known: readonly SigningKey[] = []): Promise<readonly SigningKey[]> {
  const rows = await db
    .selectFrom('signing_keys')
    .select(['kid', 'public_jwk', 'signs_from', 'verifies_until'])
    .orderBy('signs_from', 'desc')
    .orderBy('kid')
    .execute()
  const keys = rows.map(({ kid, public_jwk, signs_from, verifies_until }) => ({
    kid,
    publicJwk: JSON.parse(public_jwk) as SigningKey['publicJwk'],
    signsFrom: signs_from.getTime(),
    verifiesUntil: verifies_until.getTime()
  }))
  const isSame =
    keys.length === known.length &&
    keys.every(({ kid, verifiesUntil }, i) => {
      return kid === known[i]!.kid && verifiesUntil === known[i]!.verifiesUntil
    })
  return isSame ? known : keys
}

/** Returns the private keys that sign now or will, the one that signs first. Throws a 503 AppError if one is unreadable. */
export const readPrivateKeys = (db: Db, keys: MasterKeys): Promise<PrivateSigningKey[]> =>
  withErrorTranslation(async () => {
    const rows = await db
      .selectFrom('signing_keys')
      .select(['kid', 'sealed', 'signs_from'])
      .orderBy(sql`signs_from > now()`)
      .orderBy('signs_from', 'desc')
      .orderBy('kid')
      .execute()
    return rows.map(({ kid, sealed, signs_from }) => ({
      kid,
      jwk: decryptJson<PrivateJwk>(keys, sealed, locationOf(kid), 'the authorization server'),
      signsFrom: signs_from.getTime()
    }))
  })
