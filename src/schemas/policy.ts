import { Type, type Static } from '@sinclair/typebox'
import { approvalStatuses } from '../domain/approvals.ts'
import { roles } from '../domain/access/access.ts'
import { effects, modes, POLICY_LIMITS, withoutElicitation, type Effect } from '../domain/policy/rule.ts'
import { OpenObject, ref, StringEnum, Text, TextList } from './shared.ts'

/** Policies that a trial or replay takes. */
const MAX_POLICIES = 500

const globs = (description: string) =>
  Type.Optional(TextList({ maxItems: POLICY_LIMITS.entries, maxLength: 1_024, description }))
const hint = () => Type.Optional(Type.Boolean())

const subjects = Type.Object(
  {
    users: globs('Names of users'),
    groups: globs('Groups of the identity provider'),
    teams: globs('Names of teams'),
    roles: Type.Optional(
      Type.Unsafe<readonly string[]>(Type.Array(StringEnum(roles), { maxItems: 10, description: 'Roles of users' }))
    ),
    clients: globs('Names of MCP clients'),
    oauth_clients: globs('Ids of OAuth clients through which people call')
  },
  {
    additionalProperties: false,
    description:
      'Callers that the rule applies to; empty for all. `users`, `groups`, `teams` and `roles` are alternatives for people, `clients` and `oauth_clients` for programs; with both, a caller must match both. Names can end with `*`.'
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
          description:
            'Annotations of tools, with the defaults of MCP; a tool that only reads is not destructive. In `allow` rules they count only for servers with `trusted_annotations`, because servers set them'
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

const approvers = Type.Object(
  {
    users: globs('Names of users'),
    groups: globs('Groups of the identity provider'),
    teams: globs('Names of teams'),
    roles: Type.Optional(
      Type.Unsafe<readonly string[]>(Type.Array(StringEnum(roles), { maxItems: 10, description: 'Roles of users' }))
    )
  },
  {
    additionalProperties: false,
    description: 'People who may decide, beside administrators. The lists are alternatives; names can end with `*`.'
  }
)

const approvalMembers = {
  approvers: Type.Optional(approvers),
  hold_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: POLICY_LIMITS.holdMs,
      description: 'Milliseconds for which a call waits for the yes; 45,000 by default'
    })
  ),
  valid_ms: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: POLICY_LIMITS.validMs,
      description: 'Milliseconds for which a request for approval waits, and a yes counts; 900,000 by default'
    })
  ),
  uses: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: POLICY_LIMITS.uses,
      description: 'Equal calls that one yes allows; 1 by default'
    })
  ),
  without_elicitation: Type.Optional(
    StringEnum(withoutElicitation, {
      description: 'Effect of a `confirm` for clients that cannot ask their user; `approve` by default'
    })
  )
}

const members = {
  effect: StringEnum(effects, {
    description:
      'A matching `deny` wins over `approve`, `approve` over `confirm`, `confirm` over `allow`, whatever the order. `confirm` and `approve` are for tools: they allow a call after a yes of the person at the client, or of an approver'
  }),
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
  require_scopes: Type.Optional(
    TextList({
      maxItems: POLICY_LIMITS.scopes,
      maxLength: 64,
      description:
        'Scopes such as `mcp:write` that the token of the caller needs, all of them. `allow`: only tokens that have them are allowed; `deny`: only tokens that lack one are denied. OAuth clients are asked to get them'
    })
  ),
  reason: Type.Optional(Text({ maxLength: 1_024, description: 'Text for the caller whose call the rule refuses' })),
  ...approvalMembers
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

const ObservedCalls = Type.Object({
  calls: Type.Integer({ description: 'Calls that the policy matches' }),
  changed: Type.Integer({
    description: 'Calls of these that would have been answered differently if it were enforced'
  }),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Time of the first call' })),
  last_at: Type.Optional(Type.String({ format: 'date-time', description: 'Time of the newest call' }))
})
export type ObservedCalls = Static<typeof ObservedCalls>

export const PolicyQuery = Type.Object({
  include: Type.Optional(
    StringEnum(['counts'], { description: 'counts: adds `observed` to policies in mode `observe`, over all replicas' })
  )
})

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
    require_scopes: Type.Optional(Type.Unsafe<readonly string[]>(Type.Array(Type.String()))),
    reason: Type.Optional(Type.String()),
    ...approvalMembers,
    source: Type.Optional(
      StringEnum(['file'], { description: 'file: it comes from the policy file, and cannot be changed over REST' })
    ),
    observed: Type.Optional(ObservedCalls)
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
  user: Type.Optional(Text({ description: 'Name of a user; either this, `client` or `groups`' })),
  client: Type.Optional(Text({ description: 'Name of an MCP client' })),
  oauth_client: Type.Optional(Text({ description: 'Id of the OAuth client through which the person calls' })),
  endpoint
}

/** A call to decide on without making it. */
export const PolicyTrial = Type.Object(
  {
    ...callerMembers,
    groups: Type.Optional(
      TextList({ maxItems: 1_000, description: 'Groups of a person who need not exist, instead of `user` or `client`' })
    ),
    kind: StringEnum(['tool', 'prompt', 'resource']),
    name: Text({ minLength: 1, description: 'Qualified name of a tool or prompt, or URI of a resource' }),
    args: Type.Optional(OpenObject('Arguments of the call; their exact text decides, as in a call')),
    scopes: Type.Optional(TextList({ maxItems: 100, description: "Scopes of the caller's token" })),
    with: Type.Optional(
      Type.Unsafe<readonly Static<typeof PolicyInput>[]>(
        Type.Array(ref(PolicyInput), {
          maxItems: MAX_POLICIES,
          description: 'Policies that are not stored; each replaces the stored one of its name'
        })
      )
    )
  },
  { $id: 'PolicyTrial', additionalProperties: false }
)

export const PolicyDecision = Type.Object(
  {
    decision: StringEnum(effects),
    default: StringEnum(['allow', 'deny'], { description: 'Decision without policies' }),
    matched: Type.Unsafe<
      readonly {
        readonly policy: string
        readonly effect: Effect
        readonly mode: 'enforce' | 'observe'
        readonly condition?: 'true' | 'false' | 'error'
        readonly missing_scopes?: readonly string[]
      }[]
    >(
      Type.Array(
        Type.Object({
          policy: Type.String(),
          effect: StringEnum(effects),
          mode: StringEnum(modes),
          condition: Type.Optional(
            StringEnum(['true', 'false', 'error'], { description: 'Value of the condition, if the policy has one' })
          ),
          missing_scopes: Type.Optional(
            Type.Array(Type.String(), {
              description: 'Required scopes that the token lacks, if the policy requires any'
            })
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
    arguments_refused: Type.Optional(
      Type.String({
        description:
          'Why the arguments are refused whatever the conditions say: a member is given twice, or a number is inexact'
      })
    ),
    scopes: Type.Optional(
      Type.Unsafe<readonly string[]>(
        Type.Array(Type.String(), { description: 'Scopes with which the token would be allowed, if that helps' })
      )
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
    decision: StringEnum([...effects, 'conditional'] as const, { description: 'conditional: the arguments decide' }),
    ...decisionMembers
  },
  { $id: 'EffectiveItem' }
)
export type EffectiveItem = Static<typeof EffectiveItem>

const moment = (description: string) => Type.Optional(Type.String({ format: 'moment', description }))

/** A change of the policies to try on logged calls. */
export const PolicyReplay = Type.Object(
  {
    with: Type.Optional(
      Type.Unsafe<readonly Static<typeof PolicyInput>[]>(
        Type.Array(ref(PolicyInput), {
          maxItems: MAX_POLICIES,
          description: 'Policies to add; each replaces the stored one of its name'
        })
      )
    ),
    without: Type.Optional(
      TextList({ maxItems: POLICY_LIMITS.policies, description: 'Names of stored policies to remove' })
    ),
    from: moment('Calls at or after this time, ISO 8601; by default 24 hours before `to`'),
    to: moment('Calls before this time, ISO 8601; by default now')
  },
  { $id: 'PolicyReplay', additionalProperties: false }
)

const optional = (description: string) => Type.Optional(Type.String({ description }))

const ChangedCalls = Type.Object({
  change: StringEnum(['denied', 'confirm', 'approve', 'allowed', 'unknown'], {
    description:
      'What the change does if the calls are repeated. unknown: a condition decides, and the arguments were not recorded'
  }),
  policy: optional('Policy that then decides, or that decided before; absent if the default does'),
  caller_kind: Type.String(),
  caller: Type.String(),
  oauth_client: optional('Id of the OAuth client'),
  scopes: optional('Scopes of the access token that policies can require'),
  endpoint: Type.String(),
  kind: StringEnum(['tool', 'prompt', 'resource', 'completion']),
  server: optional('Absent if the item was unknown to the caller'),
  item: optional('As in the call log'),
  calls: Type.Integer({ description: 'Number of such calls' }),
  last_id: Type.String({ description: 'Id of the newest of them in the call log' }),
  last_at: Type.String({ description: 'ISO 8601' })
})
export type ChangedCalls = Static<typeof ChangedCalls>

export const PolicyReplayResult = Type.Object(
  {
    from: Type.String({ description: 'Begin of the time that was examined, ISO 8601' }),
    to: Type.String({ description: 'ISO 8601' }),
    complete: Type.Boolean({ description: 'False if a limit of calls or of time ended the replay early' }),
    calls: Type.Integer({ description: 'Calls that were examined' }),
    callers_gone: Type.Integer({ description: 'Those whose callers do not exist any more; they are not decided on' }),
    denied: Type.Integer({ description: 'Calls that would newly be denied' }),
    confirm: Type.Integer({ description: 'Calls that would newly need the yes of the person at the client' }),
    approve: Type.Integer({ description: 'Calls that would newly need the yes of an approver' }),
    allowed: Type.Integer({ description: 'Calls that would newly be allowed' }),
    unknown: Type.Integer({ description: 'Calls on which a condition decides, without recorded arguments' }),
    changes: Type.Unsafe<readonly ChangedCalls[]>(
      Type.Array(ChangedCalls, { description: 'Most frequent first, at most 1,000' })
    ),
    changes_cut: Type.Boolean({ description: 'True if there are more changes than are listed' })
  },
  { $id: 'PolicyReplayResult' }
)
export type PolicyReplayResult = Static<typeof PolicyReplayResult>

/** A call that may run only after a yes (approvals.md). */
export const Approval = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ description: 'Time of the call, ISO 8601' }),
    expires_at: Type.String({
      description: 'End of the wait for a decision, or of the time in which the decision counts; ISO 8601'
    }),
    status: StringEnum(approvalStatuses, { description: 'consumed: the calls that the yes allows were made' }),
    rule: Type.String({ description: 'Policy that asks for the yes' }),
    caller_kind: Type.String(),
    caller: Type.String(),
    endpoint: Type.String(),
    server: Type.String(),
    tool: Type.String({ description: 'Name of the tool without its server' }),
    arguments: Type.Optional(
      Type.Unknown({
        description: 'Arguments of the call, secrets masked; absent for auditors, and in lists with many of them'
      })
    ),
    fingerprint: Type.String({ description: 'Stands for exactly this call; a decision has to name it' }),
    definition: Type.String({ description: 'Fingerprint of the definition of the tool' }),
    can_decide: Type.Boolean({ description: 'True if the caller of this request may decide' }),
    decided_by: Type.Optional(Type.String()),
    decided_at: Type.Optional(Type.String({ description: 'ISO 8601' })),
    reason: Type.Optional(Type.String({ description: 'Text of the decider' }))
  },
  { $id: 'Approval' }
)
export type Approval = Static<typeof Approval>

export const ApprovalDecisionInput = Type.Object(
  {
    fingerprint: Text({
      minLength: 64,
      maxLength: 64,
      description: 'As the request for approval shows it; 409 if it is another'
    }),
    reason: Type.Optional(Text({ maxLength: 1_024, description: 'The caller of a denied call reads it' }))
  },
  { $id: 'ApprovalDecision', additionalProperties: false }
)
export type ApprovalDecisionInput = Static<typeof ApprovalDecisionInput>

export const ApprovalFilter = Type.Object({
  status: Type.Optional(StringEnum(approvalStatuses)),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }))
})
