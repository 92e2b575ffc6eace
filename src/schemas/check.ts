import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from './shared.ts'

/** Result of one check. */
export const Check = Type.Object({
  id: Type.String({ description: 'Stable, for example `database` or `server:github`' }),
  status: StringEnum(['pass', 'warn', 'fail']),
  title: Type.String(),
  detail: Type.Optional(Type.String()),
  hint: Type.Optional(Type.String({ description: 'Suggested fix' })),
  ms: Type.Optional(Type.Number())
})
export type Check = Static<typeof Check>

export const IdentityProviderChecks = Type.Object(
  { checks: Type.Array(Check, { description: 'Empty if people do not sign in at a provider' }) },
  { $id: 'IdentityProviderChecks' }
)

export const SearchChecks = Type.Object(
  { checks: Type.Array(Check, { description: 'Empty if search goes by words alone' }) },
  { $id: 'SearchChecks' }
)
