import { Type, type Static } from '@sinclair/typebox'
import { StringEnum, TextList } from './shared.ts'

const Name = Type.String({ format: 'name', description: '`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`' })
const roles = ['member', 'manager'] as const
const groups = { description: 'Groups of the identity provider whose people belong to the team', maxLength: 256 }

const Member = Type.Object({ user: Type.String(), role: StringEnum(roles) })

/** People who are subjects of policies together. */
export const Team = Type.Object(
  {
    name: Type.String(),
    members: Type.Unsafe<readonly Static<typeof Member>[]>(Type.Array(Member)),
    groups: TextList(groups)
  },
  { $id: 'Team' }
)
export type Team = Static<typeof Team>

const MemberInput = Type.Object(
  { user: Name, role: Type.Optional(StringEnum(roles, { default: 'member' })) },
  { additionalProperties: false }
)

const parts = {
  members: Type.Optional(
    Type.Unsafe<readonly Static<typeof MemberInput>[]>(
      Type.Array(MemberInput, { maxItems: 10_000, description: 'Users who are members whatever their groups are' })
    )
  ),
  groups: Type.Optional(TextList({ ...groups, maxItems: 200 }))
}

export const TeamInput = Type.Object({ name: Name, ...parts }, { $id: 'TeamInput', additionalProperties: false })

export const TeamReplacement = Type.Object(
  {
    name: Type.Optional(Type.String({ format: 'name', description: 'If given, must equal the name in the path' })),
    ...parts
  },
  { $id: 'TeamReplacement', additionalProperties: false }
)
export type TeamReplacement = Static<typeof TeamReplacement>
