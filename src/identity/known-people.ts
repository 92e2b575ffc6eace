import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import type { ProviderConfig } from '../config/config.ts'
import { forbidden } from '../lib/errors.ts'
import type { Change } from '../registry/model/model.ts'
import type { IdentifiedPerson, KnownPerson } from '../registry/repositories/identities.ts'
import type { Registry } from '../registry/registry.ts'
import { createSignInRules, lacksGroup, type PersonRules } from './admission.ts'
import { refusePerson } from './refused-people.ts'

/** Client address and request of a token, for the audit log. */
export type Origin = Pick<Change, 'address' | 'requestId'>

/**
 * Returns the id of the user of a person whom a verified token names; the user is created or changed as by a sign-in.
 * Rejects with an AppError: 403 if the person may not sign in, 503 while the database is not available.
 */
export type UserOf = (person: IdentifiedPerson, origin: Origin) => Promise<string>

export interface KnownPeopleOptions {
  readonly provider: ProviderConfig
  readonly registry: () => Pick<Registry, 'findPerson' | 'write'>
  /** Action in the audit log. */
  readonly action: string
  readonly now?: () => number
}

/** Groups are stored again when half of the time is over in which they count. */
const RENEWAL = 2
/** Time for which what was taken from a person is not taken again. */
const REFUSAL_MS = 60_000
const MAX_REFUSED = 10_000

const isSame = (a: readonly string[], b: readonly string[]) => isDeepStrictEqual(a.toSorted(), b.toSorted())

/** Finds users by tokens, of which there are many for one sign-in: nothing is written unless something has changed. */
export function createUserOf({ provider, registry, action, now = Date.now }: KnownPeopleOptions): UserOf {
  const isUnchanged = (known: KnownPerson, { admit }: PersonRules): boolean => {
    const { role, role_source, stored, groups, readAt, claimsAt, isNew, refused_at } = known
    if (refused_at !== null) return false
    const given = admit(groups, readAt)
    if (role_source === 'mapped' && given !== undefined && given !== role) return false
    const isRecent = claimsAt !== null && now() - claimsAt < provider.claimsMaxAgeMs / RENEWAL
    return isSame(stored, groups) && (isRecent || !isNew)
  }
  const refusedAt = new LRUCache<string, number>({ max: MAX_REFUSED })
  /** A person could go on asking the provider for tokens, each of which would be a change. */
  const refuse = async (id: string, person: IdentifiedPerson, origin: Origin): Promise<void> => {
    if (now() - (refusedAt.get(id) ?? 0) < REFUSAL_MS) return
    refusedAt.set(id, now())
    await refusePerson(registry(), person, origin)
  }
  return async (person, origin) => {
    const rules = createSignInRules(provider, person, now)
    const known = await registry().findPerson(person)
    if (known?.isNew && lacksGroup(provider, known.groups)) await refuse(known.id, person, origin)
    if (known && !known.active) throw forbidden(`the user "${known.name}" is suspended`)
    if (known && isUnchanged(known, rules)) return known.id
    const actor = { kind: 'system', name: 'sign-in' } as const
    const change = { actor, action, target: known?.name ?? person.name, ...origin }
    const { id } = await registry().write(change, (tx) => tx.identities.signIn(person, rules))
    return id
  }
}
