import type { ProviderConfig } from '../config/config.ts'
import type { Role } from '../domain/access/access.ts'
import type { IdentifiedPerson, SignInRules } from '../registry/repositories/identities.ts'
import { SignInError } from './person.ts'

const isIn = (groups: readonly string[], wanted: readonly string[]) => wanted.some((group) => groups.includes(group))

/** Tests if a person is in none of the groups of which one is required. */
export const lacksGroup = (
  { requiredGroups }: Pick<ProviderConfig, 'requiredGroups'>,
  groups: readonly string[]
): boolean => requiredGroups.length > 0 && !isIn(groups, requiredGroups)

/** Throws SignInError unless the person's groups and e-mail address may sign in. */
function admit(
  provider: ProviderConfig,
  { email, isEmailVerified }: Pick<IdentifiedPerson, 'email' | 'isEmailVerified'>,
  groups: readonly string[]
): void {
  const { requiredGroups, allowedDomains } = provider
  if (lacksGroup(provider, groups)) {
    const names = requiredGroups.map((group) => `"${group}"`).join(', ')
    throw new SignInError(403, `To sign in, your account at the identity provider must be in the group ${names}.`)
  }
  if (allowedDomains.length === 0) return
  const domain = email?.slice(email.lastIndexOf('@') + 1).toLowerCase()
  if (isEmailVerified && domain !== undefined && allowedDomains.includes(domain)) return
  throw new SignInError(403, 'To sign in, your account needs a verified e-mail address of the company.')
}

/** Returns the role that groups give; undefined if no group of the settings gives roles. */
export function roleOf({ adminGroups, auditorGroups }: ProviderConfig, groups: readonly string[]): Role | undefined {
  if (adminGroups.length + auditorGroups.length === 0) return undefined
  if (isIn(groups, adminGroups)) return 'admin'
  return isIn(groups, auditorGroups) ? 'auditor' : 'user'
}

/** Rules of the settings for one person, which remember whether they have refused the person. */
export interface PersonRules extends SignInRules {
  hasRefused(): boolean
}

export function createSignInRules(
  provider: ProviderConfig,
  person: IdentifiedPerson,
  now: () => number = Date.now
): PersonRules {
  let isRefused = false
  return {
    createsUsers: provider.provision === 'jit',
    // another issuer could claim any address
    joinsUsers: person.issuer === provider.issuer,
    admit(groups, readAt) {
      isRefused = true
      admit(provider, person, groups)
      if (readAt !== null && now() - readAt > provider.claimsMaxAgeMs) {
        throw new SignInError(403, 'Your groups were read too long ago. Sign in once more.')
      }
      isRefused = false
      return roleOf(provider, groups)
    },
    hasRefused: () => isRefused
  }
}
