import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from './shared.ts'

const codes = [
  'malformed',
  'no_name',
  'listed_twice',
  'name_too_long',
  'name_characters',
  'too_large',
  'too_deep',
  'too_many',
  'parameters',
  'tasks',
  'shape'
] as const

/** An item that an upstream lists but the gateway does not serve. */
export const LeftOutItem = Type.Object(
  {
    kind: StringEnum(['tool', 'prompt', 'resource', 'template', 'skill']),
    name: Type.Optional(
      Type.String({
        description:
          "The upstream's own name or URI, truncated to 200 characters, hidden characters written as `\\u{202e}`; absent if it has none"
      })
    ),
    code: StringEnum(codes, { description: 'Machine-readable reason' }),
    reason: Type.String({ description: 'The reason as a sentence' })
  },
  { $id: 'LeftOutItem' }
)
export type LeftOutItem = Static<typeof LeftOutItem>
export type LeftOutCode = LeftOutItem['code']
