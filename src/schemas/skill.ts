import { Type } from '@sinclair/typebox'
import { OpenObject } from './shared.ts'

const SkillFile = Type.Object(
  {
    uri: Type.String({ description: 'Address that `POST /resources/read` takes' }),
    digest: Type.String({ description: '`sha256:` and the hash of the file, as stated by the server' }),
    size: Type.Integer({ description: 'Bytes' })
  },
  { additionalProperties: true }
)

/** A skill (http-contract.md#skill-record). */
export const Skill = Type.Object(
  {
    uri: Type.String({ description: 'Address of its `SKILL.md`: `skill://<server>/…`' }),
    name: Type.String(),
    enabled: Type.Boolean(),
    description: Type.String(),
    frontmatter: OpenObject('All that the author wrote at the top of `SKILL.md`'),
    resources: Type.Unsafe<readonly { readonly uri: string; readonly size: number }[] | 'dynamic'>(
      Type.Union([Type.Array(SkillFile), Type.Literal('dynamic')], {
        description: 'All files of the skill, or `dynamic` if the server generates them'
      })
    ),
    _meta: Type.Optional(OpenObject())
  },
  { $id: 'Skill', additionalProperties: true }
)
