import type { Configuration, Provider } from 'oidc-provider'
import { signingAlgorithms } from '../domain/access/signing-algorithms.ts'
import type { UsedAssertions } from '../registry/used-assertions.ts'

type Library = typeof import('oidc-provider')

/** Longest time until the expiry of an assertion, for which its id has to be remembered. */
export const MAX_ASSERTION_S = 3_600
/** Difference between the clocks of the database and the replicas that changes nothing. */
export const CLOCKS_S = 120
const MAX_ID = 1_024

type AssertionRules = Pick<Required<Configuration>, 'assertJwtClientAuthClaimsAndHeader'> & {
  readonly enabledJWA: Pick<NonNullable<Configuration['enabledJWA']>, 'clientAuthSigningAlgValues'>
}

/** Limits of the assertions with which clients authenticate (RFC 7523 3). */
export const clientAssertionRules = ({ errors }: Library): AssertionRules => ({
  enabledJWA: { clientAuthSigningAlgValues: signingAlgorithms },
  assertJwtClientAuthClaimsAndHeader(_context, { exp, jti }) {
    // the library has checked the types
    if (Number(exp) > Date.now() / 1_000 + MAX_ASSERTION_S) {
      throw new errors.InvalidClientAuth('the client assertion expires too late')
    }
    if (typeof jti !== 'string' || jti.length > MAX_ID)
      throw new errors.InvalidClientAuth('the id of the client assertion is too long')
  }
})

/** Replaces the library's memory of assertions, where two replicas could accept one at the same time. */
export function rememberAssertions({ ReplayDetection }: Provider, { use }: UsedAssertions): void {
  ReplayDetection.unique = (issuer, id, expiresAt) =>
    use({ purpose: 'client assertion', issuer, id, expiresAt: expiresAt + CLOCKS_S })
}
