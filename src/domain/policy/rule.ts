/** Effects of a rule on the items that it matches. */
export const effects = ['allow', 'deny'] as const
export type Effect = (typeof effects)[number]

/** `observe`: matches are counted and logged, and have no effect. */
export const modes = ['enforce', 'observe'] as const
export type Mode = (typeof modes)[number]

/**
 * Callers that a rule applies to; texts are names or globs. `users` and `roles` select people, `clients` selects
 * MCP clients; entries are alternatives. A rule without entries applies to every caller.
 */
export interface PolicySubjects {
  readonly users?: readonly string[] | undefined
  readonly roles?: readonly string[] | undefined
  readonly clients?: readonly string[] | undefined
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
 * With `annotations` it applies to tools only.
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
  /** Text for the caller whose call the rule refuses. */
  readonly reason: string | null
}

/** Limits of the policies of a gateway. */
export const POLICY_LIMITS = {
  policies: 2_000,
  /** Entries of one list of subjects or targets. */
  entries: 200,
  /** Bytes of a condition in UTF-8. */
  conditionBytes: 2_048
} as const

/** Last part of a path beside the policies' own paths. */
const RESERVED_NAME = 'effective'

const subjectLists = ['users', 'roles', 'clients'] as const
const targetLists = ['servers', 'groups', 'tools', 'prompts', 'resources'] as const

/** Returns the lists of a rule with their paths. */
export function listsOf({
  subjects,
  targets
}: PolicyRule): { readonly path: string; readonly texts: readonly string[] }[] {
  return [
    ...subjectLists.map((key) => ({ path: `subjects.${key}`, texts: subjects[key] ?? [] })),
    ...targetLists.map((key) => ({ path: `targets.${key}`, texts: targets[key] ?? [] }))
  ].filter(({ texts }) => texts.length > 0)
}

const hasHints = ({ annotations }: PolicyTargets) => Object.values(annotations ?? {}).some((hint) => hint !== undefined)

/** Returns why a rule cannot be stored, without looking at its condition; each text begins with the member's path. */
export function ruleProblems(rule: PolicyRule): string[] {
  const { subjects, targets, effect, everyone, when } = rule
  const lists = listsOf(rule)
  const problems = lists.flatMap(({ path, texts }) => {
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
  if ((subjects.users ?? subjects.roles)?.length && subjects.clients?.length)
    problems.push('subjects: no caller is both a person and an MCP client; write two rules')
  if (hasHints(targets) && effect === 'allow')
    problems.push('targets.annotations: only a deny rule can use them, because servers describe themselves')
  if (hasHints(targets) && [targets.prompts, targets.resources].some((list) => list?.length))
    problems.push('targets.annotations: only tools have annotations')
  if (when !== null && new TextEncoder().encode(when).length > POLICY_LIMITS.conditionBytes)
    problems.push(`when: longer than ${POLICY_LIMITS.conditionBytes} bytes`)
  return problems
}
