import { isPolicyScope } from '../access/access.ts'

/** Effects of a rule on the items that it matches. */
export const effects = ['allow', 'deny', 'confirm', 'approve'] as const
export type Effect = (typeof effects)[number]

/** Effects that allow a tool's call after a yes: of the person at the client, or of somebody else. */
export type AskingEffect = 'confirm' | 'approve'

/** Returns true for rules that let a call run only after a yes. */
export const isAsking = (effect: Effect): effect is AskingEffect => effect === 'confirm' || effect === 'approve'

/** `observe`: matches are counted and logged, and have no effect. */
export const modes = ['enforce', 'observe'] as const
export type Mode = (typeof modes)[number]

/**
 * Callers that a rule applies to; texts are names or globs. `users`, `groups`, `teams` and `roles` select people,
 * `clients` and `oauth_clients` select programs. Entries of people are alternatives, and so are those of programs; a
 * caller must match both. A rule without entries applies to every caller.
 */
export interface PolicySubjects {
  readonly users?: readonly string[] | undefined
  /** Groups of the identity provider. */
  readonly groups?: readonly string[] | undefined
  readonly teams?: readonly string[] | undefined
  readonly roles?: readonly string[] | undefined
  /** MCP clients with a static token. */
  readonly clients?: readonly string[] | undefined
  /** Ids of OAuth clients, through which people call. */
  readonly oauth_clients?: readonly string[] | undefined
}

/** Annotations of a tool, by its server; absent hints have the defaults of MCP. */
export interface Annotations {
  readonly readOnly?: boolean | undefined
  readonly destructive?: boolean | undefined
  readonly idempotent?: boolean | undefined
  readonly openWorld?: boolean | undefined
}

/**
 * Items that a rule applies to; texts are names or globs. `servers` and `groups` select by place, and both must match.
 * `tools`, `prompts` and `resources` (URIs) are alternatives; without them the rule applies to items of every kind.
 * With `annotations` it applies to tools only, and an `allow` rule only to tools of servers with `trusted_annotations`.
 */
export interface PolicyTargets {
  readonly servers?: readonly string[] | undefined
  /** Tool groups: the items that they contain, at whichever endpoint they are used. */
  readonly groups?: readonly string[] | undefined
  /** Names at the server, without `<server>__`. */
  readonly tools?: readonly string[] | undefined
  readonly prompts?: readonly string[] | undefined
  readonly resources?: readonly string[] | undefined
  readonly annotations?: Annotations | undefined
}

/** Effect of a `confirm` for a client that cannot ask its user. */
export const withoutElicitation = ['approve', 'deny', 'allow'] as const

/** People who may decide on a call, beside administrators; texts are names or globs, and the lists are alternatives. */
export type Approvers = Pick<PolicySubjects, 'users' | 'groups' | 'teams' | 'roles'>

/** How a rule with an asking effect gets its yes. */
export interface ApprovalSettings {
  readonly approvers?: Approvers | undefined
  /** Milliseconds for which a call waits for the yes. */
  readonly hold_ms?: number | undefined
  /** Milliseconds for which a request for approval waits, and a yes counts. */
  readonly valid_ms?: number | undefined
  /** Calls that one yes allows. */
  readonly uses?: number | undefined
  readonly without_elicitation?: (typeof withoutElicitation)[number] | undefined
}

/** Values of absent members of `ApprovalSettings`. */
export const approvalDefaults = {
  approvers: {},
  hold_ms: 45_000,
  valid_ms: 900_000,
  uses: 1,
  without_elicitation: 'approve'
} as const satisfies ApprovalSettings

/** A policy: a rule about who may use what (policies.md). */
export interface PolicyRule {
  readonly name: string
  readonly enabled: boolean
  readonly effect: Effect
  readonly mode: Mode
  /** Confirms that a rule without subjects and targets is meant for every caller and every item. */
  readonly everyone: boolean
  readonly subjects: PolicySubjects
  readonly targets: PolicyTargets
  /** Condition on the arguments, in CEL; null for none. */
  readonly when: string | null
  /**
   * Scopes that the caller's token needs, all of them: an `allow` rule allows only tokens that have them, a `deny` rule
   * denies only tokens that lack one.
   */
  readonly requireScopes: readonly string[]
  /** Text for the caller whose call the rule refuses. */
  readonly reason: string | null
  /** Members that only asking effects have; absent if the rule has none of them. */
  readonly approval?: ApprovalSettings | undefined
}

/** Limits of the policies of a gateway. */
export const POLICY_LIMITS = {
  policies: 2_000,
  /** Entries of one list of subjects or targets. */
  entries: 200,
  /** Bytes of a condition in UTF-8. */
  conditionBytes: 2_048,
  /** Scopes that one rule requires. */
  scopes: 8,
  /** Different scopes that the policies of a gateway require: all of them fit into one token. */
  scopesInAll: 32,
  holdMs: 240_000,
  /** One day. */
  validMs: 86_400_000,
  uses: 1_000
} as const

/** Last part of a path beside the policies' own paths. */
const RESERVED_NAME = 'effective'

const peopleLists = ['users', 'groups', 'teams', 'roles'] as const
const subjectLists = [...peopleLists, 'clients', 'oauth_clients'] as const
const approverLists = peopleLists.map((key) => ({ key, path: `approvers.${key}` as const }))
const targetLists = ['servers', 'groups', 'tools', 'prompts', 'resources'] as const

/** List of names or globs of a rule, with its path. */
interface RuleList {
  readonly path: string
  readonly texts: readonly string[]
}

/** Returns the lists of subjects and targets of a rule with their paths. */
export function listsOf({ subjects, targets }: PolicyRule): RuleList[] {
  return [
    ...subjectLists.map((key) => ({ path: `subjects.${key}`, texts: subjects[key] ?? [] })),
    ...targetLists.map((key) => ({ path: `targets.${key}`, texts: targets[key] ?? [] }))
  ].filter(({ texts }) => texts.length > 0)
}

/** Returns the paths of lists without entries: they would select everything, as if they were absent. */
const emptyLists = ({ subjects, targets }: PolicyRule): string[] => [
  ...subjectLists.filter((key) => subjects[key]?.length === 0).map((key) => `subjects.${key}`),
  ...targetLists.filter((key) => targets[key]?.length === 0).map((key) => `targets.${key}`)
]

const hasHints = ({ annotations }: PolicyTargets) => Object.values(annotations ?? {}).some((hint) => hint !== undefined)

function scopeProblems({ requireScopes }: PolicyRule): string[] {
  const wrong = requireScopes.find((scope) => !isPolicyScope(scope))
  return [
    ...(requireScopes.length > POLICY_LIMITS.scopes ? [`require_scopes: at most ${POLICY_LIMITS.scopes} scopes`] : []),
    ...(wrong === undefined
      ? []
      : [
          `require_scopes: ${JSON.stringify(wrong)} is no scope: write "mcp:" and up to 60 of a-z, 0-9, ".", "_" and "-"`
        ])
  ]
}

const listsOfApprovers = ({ approval: { approvers = {} } = {} }: PolicyRule): RuleList[] =>
  approverLists.flatMap(({ key, path }) => (approvers[key]?.length ? [{ path, texts: approvers[key] }] : []))

function approvalProblems({ effect, targets, approval = {}, requireScopes }: PolicyRule): string[] {
  if (!isAsking(effect)) {
    const [member] = Object.keys(approval)
    return member === undefined ? [] : [`${member}: only a rule that confirms or approves has it`]
  }
  const { approvers = {}, hold_ms: hold = 0, valid_ms: valid = 1, uses = 1 } = approval
  const isBetween = (value: number, from: number, to: number) =>
    Number.isSafeInteger(value) && value >= from && value <= to
  const { holdMs, validMs, uses: maxUses } = POLICY_LIMITS
  return [
    ...(['prompts', 'resources'] as const)
      .filter((key) => targets[key]?.length)
      .map((key) => `targets.${key}: only calls of tools can be confirmed or approved`),
    ...(requireScopes.length > 0 ? ['require_scopes: only a rule that allows or denies can require scopes'] : []),
    ...(effect === 'approve' && approval.without_elicitation !== undefined
      ? ['without_elicitation: only a rule that confirms has it']
      : []),
    ...approverLists
      .filter(({ key }) => approvers[key]?.length === 0)
      .map(({ path }) => `${path}: the list is empty; leave it out to select nobody`),
    ...(isBetween(hold, 0, holdMs) ? [] : [`hold_ms: a whole number from 0 to ${holdMs}`]),
    ...(isBetween(valid, 1, validMs) ? [] : [`valid_ms: a whole number from 1 to ${validMs}`]),
    ...(isBetween(uses, 1, maxUses) ? [] : [`uses: a whole number from 1 to ${maxUses}`])
  ]
}

/** Returns why a rule cannot be stored, without looking at its condition; each text begins with the member's path. */
export function ruleProblems(rule: PolicyRule): string[] {
  const { subjects, targets, everyone, when } = rule
  const lists = listsOf(rule)
  const problems = [...lists, ...listsOfApprovers(rule)].flatMap(({ path, texts }) => {
    const misplaced = texts.find((text) => text.slice(0, -1).includes('*'))
    return [
      ...(texts.length > POLICY_LIMITS.entries ? [`${path}: at most ${POLICY_LIMITS.entries} entries`] : []),
      ...(texts.includes('') ? [`${path}: an entry is empty`] : []),
      ...(misplaced === undefined ? [] : [`${path}: "*" can only be the last character: ${JSON.stringify(misplaced)}`])
    ]
  })
  if (rule.name === RESERVED_NAME) problems.push(`name: "${RESERVED_NAME}" is reserved`)
  if (lists.length === 0 && !hasHints(targets) && !everyone)
    problems.push('everyone: a rule without subjects and targets needs "everyone": true')
  if (peopleLists.some((key) => subjects[key]?.length) && subjects.clients?.length)
    problems.push('subjects: no caller is both a person and an MCP client; write two rules')
  if (hasHints(targets) && [targets.prompts, targets.resources].some((list) => list?.length))
    problems.push('targets.annotations: only tools have annotations')
  problems.push(...emptyLists(rule).map((path) => `${path}: the list is empty; leave it out to select everything`))
  problems.push(...scopeProblems(rule), ...approvalProblems(rule))
  if (when !== null && new TextEncoder().encode(when).length > POLICY_LIMITS.conditionBytes)
    problems.push(`when: longer than ${POLICY_LIMITS.conditionBytes} bytes`)
  return problems
}
