import { Type, type Static } from '@sinclair/typebox'
import { roles } from '../domain/access/access.ts'
import { effects, modes, POLICY_LIMITS } from '../domain/policy/rule.ts'
import { OpenObject, ref, StringEnum, Text, TextList } from './shared.ts'

const globs = (description: string) =>
  Type.Optional(TextList({ maxItems: POLICY_LIMITS.entries, maxLength: 1_024, description }))
const hint = () => Type.Optional(Type.Boolean())

const subjects = Type.Object(
  {
    users: globs('Names of users'),
    roles: Type.Optional(
      Type.Unsafe<readonly string[]>(Type.Array(StringEnum(roles), { maxItems: 10, description: 'Roles of users' }))
    ),
    clients: globs('Names of MCP clients')
  },
  {
    additionalProperties: false,
    description:
      'Callers that the rule applies to; empty for all. Entries are alternatives; people and clients exclude each other. Names can end with `*`.'
  }
)

const targets = Type.Object(
  {
    servers: globs('Names of servers'),
    groups: globs('Names of tool groups: the items that they contain, at whichever endpoint they are used'),
    tools: globs('Names of tools at their server, without `<server>__`'),
    prompts: globs('Names of prompts at their server'),
    resources: globs('URIs of resources and URI templates'),
    annotations: Type.Optional(
      Type.Object(
        { readOnly: hint(), destructive: hint(), idempotent: hint(), openWorld: hint() },
        {
          additionalProperties: false,
          description: 'Annotations of tools, with the defaults of MCP; only in `deny` rules, because servers set them'
        }
      )
    )
  },
  {
    additionalProperties: false,
    description:
      'Items that the rule applies to; empty for all. Servers, groups, annotations and names must all match; `tools`, `prompts` and `resources` are alternatives. Names can end with `*`.'
  }
)

const members = {
  effect: StringEnum(effects, { description: 'A matching `deny` wins over every `allow`, whatever the order' }),
  mode: Type.Optional(
    StringEnum(modes, { default: 'enforce', description: '`observe`: matches are counted and logged, without effect' })
  ),
  enabled: Type.Optional(Type.Boolean({ default: true })),
  everyone: Type.Optional(
    Type.Boolean({ default: false, description: 'Must be true for a rule without subjects and targets' })
  ),
  subjects: Type.Optional(subjects),
  targets: Type.Optional(targets),
  when: Type.Optional(
    Text({
      minLength: 1,
      maxLength: POLICY_LIMITS.conditionBytes,
      description: 'Condition on the call in CEL, such as `args.namespace == "dev"`'
    })
  ),
  reason: Type.Optional(Text({ maxLength: 1_024, description: 'Text for the caller whose call the rule refuses' }))
}

const name = Type.String({ format: 'name', description: '`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`' })

/** Input of a policy (policies.md). */
export const PolicyInput = Type.Object({ name, ...members }, { $id: 'PolicyInput', additionalProperties: false })
export type PolicyInput = Static<typeof PolicyInput>

export const PolicyReplacement = Type.Object(
  { name: Type.Optional(Text({ description: 'If given, must equal the name in the path' })), ...members },
  {
    $id: 'PolicyReplacement',
    additionalProperties: false,
    description: 'The whole policy; absent members get their defaults.'
  }
)
export type PolicyReplacement = Static<typeof PolicyReplacement>

export const Policy = Type.Object(
  {
    name: Type.String(),
    effect: StringEnum(effects),
    mode: StringEnum(modes),
    enabled: Type.Boolean(),
    everyone: Type.Optional(Type.Literal(true)),
    subjects,
    targets,
    when: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String())
  },
  { $id: 'Policy' }
)
export type Policy = Static<typeof Policy>

/** Result of checking a policy that is not stored. */
export const PolicyCheck = Type.Object(
  {
    valid: Type.Boolean(),
    problems: Type.Unsafe<readonly string[]>(
      Type.Array(Type.String(), { description: 'Why it cannot be stored; each begins with the path of a member' })
    )
  },
  { $id: 'PolicyCheck' }
)

const decisionMembers = {
  policy: Type.Optional(Type.String({ description: 'Policy that decided; absent if the default did' }))
}
const endpoint = Type.Optional(Text({ description: 'Name of a tool group; absent for the global endpoint' }))
const callerMembers = {
  user: Type.Optional(Text({ description: 'Name of a user; either this or `client`' })),
  client: Type.Optional(Text({ description: 'Name of an MCP client' })),
  endpoint
}

/** A call to decide on without making it. */
export const PolicyTrial = Type.Object(
  {
    ...callerMembers,
    kind: StringEnum(['tool', 'prompt', 'resource']),
    name: Text({ minLength: 1, description: 'Qualified name of a tool or prompt, or URI of a resource' }),
    args: Type.Optional(OpenObject('Arguments of the call')),
    with: Type.Optional(
      Type.Unsafe<readonly Static<typeof PolicyInput>[]>(
        Type.Array(ref(PolicyInput), {
          maxItems: 100,
          description: 'Policies that are not stored; each replaces the stored one of its name'
        })
      )
    )
  },
  { $id: 'PolicyTrial', additionalProperties: false }
)

export const PolicyDecision = Type.Object(
  {
    decision: StringEnum(['allow', 'deny']),
    default: StringEnum(['allow', 'deny'], { description: 'Decision without policies' }),
    matched: Type.Unsafe<
      readonly {
        readonly policy: string
        readonly effect: 'allow' | 'deny'
        readonly mode: 'enforce' | 'observe'
        readonly condition?: 'true' | 'false' | 'error'
      }[]
    >(
      Type.Array(
        Type.Object({
          policy: Type.String(),
          effect: StringEnum(effects),
          mode: StringEnum(modes),
          condition: Type.Optional(
            StringEnum(['true', 'false', 'error'], { description: 'Value of the condition, if the policy has one' })
          )
        }),
        { description: 'Enabled policies whose subjects and targets match' }
      )
    ),
    hidden_by: Type.Optional(
      StringEnum(['server', 'switch', 'group', 'policy', 'default'], {
        description:
          'Why the call is denied. server: no server offers the item; switch: it is disabled; group: the endpoint does not serve it'
      })
    ),
    ...decisionMembers
  },
  { $id: 'PolicyDecision' }
)
export type PolicyDecision = Static<typeof PolicyDecision>

export const EffectiveQuery = Type.Object(callerMembers)

export const EffectiveItem = Type.Object(
  {
    kind: StringEnum(['tool', 'prompt', 'resource', 'template', 'skill']),
    name: Type.String(),
    decision: StringEnum(['allow', 'deny', 'conditional'], { description: 'conditional: the arguments decide' }),
    ...decisionMembers
  },
  { $id: 'EffectiveItem' }
)
export type EffectiveItem = Static<typeof EffectiveItem>
