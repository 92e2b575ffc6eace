import type { ProviderConfig } from '../config/config.ts'
import { isObject } from '../domain/is-object.ts'
import { AppError } from '../lib/errors.ts'
import type { IdentifiedPerson } from '../registry/repositories/identities.ts'

const MAX_GROUPS = 1_000
const MAX_TEXT = 256

/** Claims of a verified token. */
export type Claims = Readonly<Record<string, unknown>>

/** Refusal of a sign-in: 400 stale or forged, 403 refused, 503 provider not available. The message is for the person. */
export class SignInError extends AppError {
  constructor(status: 400 | 403 | 503, message: string, options?: ErrorOptions) {
    super(status, message, options)
    this.name = 'SignInError'
  }
}

/** Returns a text of a claim; null for anything else, and for texts that are too long or hold control characters. */
export const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= MAX_TEXT && !/[\p{Cc}\p{Surrogate}]/u.test(value)
    ? value
    : null

const atPath = (claims: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), claims)

/** Entra ID leaves out groups beyond a number and names another place for them: never "no groups". */
const isOverage = (claims: Claims, path: string) =>
  claims['hasgroups'] === true ||
  claims['hasgroups'] === 'true' ||
  (isObject(claims['_claim_names']) && Object.hasOwn(claims['_claim_names'], path.split('.')[0]!))

/**
 * Returns the groups at the configured path: a text or an array, of which other values are ignored; undefined if the
 * claim is missing. Throws SignInError if there are too many, or if the provider left them out.
 */
export function groupsOf(claims: Claims, path: string): readonly string[] | undefined {
  const value = atPath(claims, path)
  if (value === undefined) {
    if (!isOverage(claims, path)) return undefined
    throw new SignInError(
      403,
      'Your account is in more groups than the identity provider puts into its answer. An administrator has to limit the groups that it sends.'
    )
  }
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (all.length > MAX_GROUPS) {
    throw new SignInError(403, `Your account is in more than ${MAX_GROUPS} groups, which cannot be read.`)
  }
  return [...new Set(all.flatMap((group) => textOf(group) ?? []))]
}

/** Returns the person whom a verified token and the user information describe. Throws SignInError. */
export function personOf(
  issuer: string,
  { groupsClaim, nameClaim }: Pick<ProviderConfig, 'groupsClaim' | 'nameClaim'>,
  token: Claims,
  userInfo: Claims = {}
): IdentifiedPerson {
  const claim = (name: string) => textOf(token[name]) ?? textOf(userInfo[name])
  const subject = textOf(token['sub'])
  if (subject === null) throw new SignInError(403, 'The identity provider sent no usable subject.')
  const email = claim('email')
  return {
    issuer,
    subject,
    name: textOf(atPath(token, nameClaim)) ?? textOf(atPath(userInfo, nameClaim)) ?? email ?? subject,
    displayName: claim('name'),
    email,
    isEmailVerified: (textOf(token['email']) === null ? userInfo : token)['email_verified'] === true,
    groups: groupsOf(token, groupsClaim) ?? groupsOf(userInfo, groupsClaim),
    claimedAt: typeof token['iat'] === 'number' ? token['iat'] * 1_000 : undefined,
    externalIds: [subject, textOf(token['oid']) ?? subject]
  }
}
