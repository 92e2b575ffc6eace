import type { RuleInput } from './input.ts'
import type { Approvers } from './rule.ts'
import type { Annotations, PolicySubjects, PolicyTargets } from './rule.ts'
import { readSimpleCondition, type ArgumentTest } from './simple-condition.ts'

/** A name as the gateway accepts it, a glob or a URI; other texts are quoted, so that they cannot pose as words. */
const PLAIN = /^[\w.@:/*+{}~?=-]+$/
const quoted = (text: string): string => (PLAIN.test(text) ? text : JSON.stringify(text))

const joined = (parts: readonly string[], last: 'and' | 'or'): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} ${last} ${parts.at(-1)}`

const nouns = {
  users: 'user',
  groups: 'group',
  teams: 'team',
  roles: 'role',
  clients: 'MCP client',
  oauth_clients: 'OAuth client'
} as const satisfies Record<keyof PolicySubjects, string>

function callers(subjects: PolicySubjects, kinds: readonly (keyof PolicySubjects)[]): string {
  const named = kinds
    .filter((kind) => subjects[kind]?.length)
    .map((kind) => {
      const names = subjects[kind]!
      return names.includes('*') ? `any ${nouns[kind]}` : `${nouns[kind]} ${joined(names.map(quoted), 'or')}`
    })
  return joined(named, 'or')
}

function subjectText(subjects: PolicySubjects): string {
  const people = callers(subjects, ['users', 'groups', 'teams', 'roles'])
  const programs = callers(subjects, ['clients', 'oauth_clients'])
  if (programs === '') return people || 'everyone'
  if (people !== '') return `${people} through ${programs}`
  return subjects.clients?.length ? programs : `anyone through ${programs}`
}

const hints: readonly (readonly [keyof Annotations, string])[] = [
  ['readOnly', 'read-only'],
  ['destructive', 'destructive'],
  ['idempotent', 'idempotent'],
  ['openWorld', 'open-world']
]

function hintText(annotations: Annotations = {}): string {
  const words = hints
    .filter(([hint]) => annotations[hint] !== undefined)
    .map(([hint, word]) => (annotations[hint] ? word : `not ${word}`))
  return words.length === 0 ? '' : ` that are ${joined(words, 'and')}`
}

function targetText({ servers, groups, tools, prompts, resources, annotations }: PolicyTargets): string {
  const kinds = [
    ...(tools?.length ? [['tools', tools] as const] : []),
    ...(prompts?.length ? [['prompts', prompts] as const] : []),
    ...(resources?.length ? [['resources', resources] as const] : [])
  ].map(([kind, names]) => {
    if (names.includes('*')) return `all ${kind}`
    const list = joined(names.map(quoted), 'and')
    return kind === 'tools' ? list : `the ${kind} ${list}`
  })
  const hint = hintText(annotations)
  const all = hint === '' ? 'everything' : 'all tools'
  const isEverywhere = servers?.includes('*') ?? false
  return [
    kinds.length === 0 ? all : joined(kinds, 'and'),
    ...(servers?.length ? [`of ${isEverywhere ? 'any server' : joined(servers.map(quoted), 'and')}`] : []),
    ...(groups?.length ? [`in the tool group ${joined(groups.map(quoted), 'or')}`] : [])
  ]
    .join(' ')
    .concat(hint)
}

const words = {
  is: 'is',
  is_not: 'is not',
  like: 'is like',
  at_most: 'is at most',
  at_least: 'is at least'
} as const

const testText = ({ argument, comparison, values }: ArgumentTest): string =>
  `${argument} ${words[comparison]} ${joined(values.map(quoted), 'or')}`

function conditionText(when: string | undefined): string {
  if (when === undefined || when.trim() === '') return ''
  const tests = readSimpleCondition(when)
  return ` when ${tests ? joined(tests.map(testText), 'and') : when}`
}

function scopeText({ effect, require_scopes: scopes = [] }: RuleInput): string {
  if (scopes.length === 0) return ''
  const names = `the ${scopes.length === 1 ? 'scope' : 'scopes'} ${joined(scopes.map(quoted), 'and')}`
  return effect === 'allow' ? `, if the token has ${names}` : `, unless the token has ${names}`
}

const verbs = {
  allow: 'may use',
  deny: 'may not use',
  confirm: 'may use',
  approve: 'may use'
} as const satisfies Record<RuleInput['effect'], string>

function yesText({ effect, approvers = {} }: RuleInput): string {
  if (effect === 'confirm') return ', after confirming each call'
  if (effect !== 'approve') return ''
  const people = callers(approvers satisfies Approvers, ['users', 'groups', 'teams', 'roles'])
  return `, after an approval by ${people === '' ? 'an administrator' : `an administrator or ${people}`}`
}

/** Returns a policy as a sentence: "Group sre may use get_* and restart_* of k8s when namespace is staging or dev". */
export function policySentence(policy: RuleInput): string {
  const subject = subjectText(policy.subjects ?? {})
  const verb = verbs[policy.effect]
  const text = `${subject} ${verb} ${targetText(policy.targets ?? {})}${conditionText(policy.when)}${scopeText(policy)}${yesText(policy)}`
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}
