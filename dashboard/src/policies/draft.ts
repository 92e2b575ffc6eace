import type { RuleInput } from '../../../src/domain/policy/input.ts'
import {
  effects,
  isAsking,
  modes,
  type ApprovalSettings,
  type Approvers,
  type PolicySubjects,
  type PolicyTargets
} from '../../../src/domain/policy/rule.ts'
import type { Policy } from '../../../src/schemas/policy.ts'
import { isJsonObject, type Json, type JsonObject } from '../form/json.ts'

/** A policy that is being written; the form and the text are two views of it. */
export type PolicyDraft = RuleInput & { readonly name: string }

/** A new policy is observed until somebody has looked at its effect. */
export const emptyDraft: PolicyDraft = { name: '', effect: 'allow', mode: 'observe' }

type SubjectKind = keyof PolicySubjects
type ListedTarget = Exclude<keyof PolicyTargets, 'annotations'>

export const subjectLabels: Readonly<Record<SubjectKind, string>> = {
  groups: 'Groups of the identity provider',
  teams: 'Teams',
  users: 'Users',
  roles: 'Roles',
  clients: 'MCP clients',
  oauth_clients: 'OAuth clients'
}

export const approverLabels: Readonly<Record<keyof Approvers, string>> = {
  groups: 'Groups of approvers',
  teams: 'Teams of approvers',
  users: 'Approvers',
  roles: 'Roles of approvers'
}

export const targetLabels: Readonly<Record<ListedTarget, string>> = {
  servers: 'Servers',
  tools: 'Tools',
  groups: 'Tool groups',
  prompts: 'Prompts',
  resources: 'Resources'
}

const subjectKinds = Object.keys(subjectLabels) as SubjectKind[]
const approverKinds = Object.keys(approverLabels) as (keyof Approvers)[]
const targetKinds = Object.keys(targetLabels) as ListedTarget[]

const listsIn = <Kind extends string>(
  from: Readonly<Partial<Record<Kind, readonly string[] | undefined>>>,
  kinds: readonly Kind[]
) => Object.fromEntries(kinds.filter((kind) => from[kind]?.length).map((kind) => [kind, from[kind]!]))

const orNothing = <T extends object>(name: string, value: T) => (Object.keys(value).length > 0 ? { [name]: value } : {})

/** Returns the body for the REST interface, without the members that say nothing. */
export function policyBody(draft: PolicyDraft): PolicyDraft {
  const { name, effect, mode, enabled, everyone, subjects = {}, targets = {}, when, require_scopes, reason } = draft
  const { annotations = {} } = targets
  return {
    ...{ name, effect, mode: mode ?? 'enforce' },
    ...(enabled === false && { enabled }),
    ...(everyone && { everyone }),
    ...orNothing('subjects', listsIn(subjects, subjectKinds)),
    ...orNothing('targets', { ...listsIn(targets, targetKinds), ...orNothing('annotations', annotations) }),
    ...(when?.trim() && { when }),
    ...(require_scopes?.length && !isAsking(effect) && { require_scopes }),
    ...(reason && { reason }),
    ...(isAsking(effect) && approvalBody(draft))
  }
}

/** Returns the members of a policy that asks for a yes. */
function approvalBody({ effect, approvers = {}, ...rest }: PolicyDraft): ApprovalSettings {
  const { hold_ms, valid_ms, uses, without_elicitation } = rest
  return {
    ...orNothing('approvers', listsIn(approvers, approverKinds)),
    ...(hold_ms !== undefined && { hold_ms }),
    ...(valid_ms !== undefined && { valid_ms }),
    ...(uses !== undefined && { uses }),
    ...(without_elicitation && effect === 'confirm' && { without_elicitation })
  }
}

export const draftOf = ({ source: _source, observed: _observed, ...policy }: Policy): PolicyDraft => policyBody(policy)

export const draftText = (draft: PolicyDraft): string => JSON.stringify(policyBody(draft), undefined, 2)

export const isSame = (a: PolicyDraft, b: PolicyDraft): boolean => draftText(a) === draftText(b)

/** Returns true if the policy selects neither callers nor items, which `everyone` must confirm. */
export const isForEverything = (draft: PolicyDraft): boolean => {
  const { subjects, targets } = policyBody(draft)
  return subjects === undefined && targets === undefined
}

const isTexts = (value: Json | undefined): boolean =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string')
const isFlag = (value: Json): boolean => typeof value === 'boolean'
const isNumber = (value: Json): boolean => typeof value === 'number'
const isText = (value: Json): boolean => typeof value === 'string'
const isOneOf = (texts: readonly string[]) => (value: Json) => typeof value === 'string' && texts.includes(value)

const hintNames = ['readOnly', 'destructive', 'idempotent', 'openWorld']

type Rules = Readonly<Record<string, readonly [holds: (value: Json) => boolean, wanted: string]>>

const listRules = (kinds: readonly string[]): Rules =>
  Object.fromEntries(kinds.map((kind) => [kind, [isTexts, 'a list of texts'] as const]))

/** Returns the first problem of the members of an object; undefined without one. */
function problemIn(object: JsonObject, rules: Rules, at = ''): string | undefined {
  for (const [name, value] of Object.entries(object)) {
    if (!Object.hasOwn(rules, name)) return `A policy has no member ${JSON.stringify(`${at}${name}`)}.`
    const [holds, wanted] = rules[name]!
    if (!holds(value)) return `${JSON.stringify(`${at}${name}`)} must be ${wanted}.`
  }
  return undefined
}

const effectTexts = '"allow", "deny", "confirm" or "approve"'
const object = [isJsonObject, 'an object'] as const
const memberRules: Rules = {
  name: [isText, 'a text'],
  effect: [isOneOf(effects), effectTexts],
  mode: [isOneOf(modes), '"enforce" or "observe"'],
  enabled: [isFlag, 'true or false'],
  everyone: [isFlag, 'true or false'],
  subjects: object,
  targets: object,
  when: [isText, 'a text'],
  require_scopes: [isTexts, 'a list of texts'],
  reason: [isText, 'a text'],
  approvers: object,
  hold_ms: [isNumber, 'a number'],
  valid_ms: [isNumber, 'a number'],
  uses: [isNumber, 'a number'],
  without_elicitation: [isText, 'a text']
}

/** Reads the text view. The gateway checks the contents of the members. */
export function readDraft(text: string): { readonly draft: PolicyDraft } | { readonly problem: string } {
  let parsed: Json
  try {
    parsed = JSON.parse(text) as Json
  } catch (error) {
    return { problem: `This is not JSON: ${(error as Error).message}` }
  }
  if (!isJsonObject(parsed)) return { problem: 'A policy is an object.' }
  const { subjects = {}, targets = {} } = parsed
  const annotations = isJsonObject(targets) ? (targets['annotations'] ?? {}) : {}
  const problem =
    problemIn(parsed, memberRules) ??
    problemIn(subjects as JsonObject, listRules(subjectKinds), 'subjects.') ??
    problemIn(targets as JsonObject, { ...listRules(targetKinds), annotations: object }, 'targets.') ??
    problemIn(
      annotations as JsonObject,
      Object.fromEntries(hintNames.map((name) => [name, [isFlag, 'true or false'] as const])),
      'targets.annotations.'
    )
  if (problem !== undefined) return { problem }
  if (parsed['effect'] === undefined) return { problem: `"effect" is missing: write ${effectTexts}.` }
  return { draft: { name: '', ...(parsed as unknown as Omit<PolicyDraft, 'name'>) } }
}
