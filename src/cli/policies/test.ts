import { effects } from '../../domain/policy/rule.ts'
import { isObject, isStringArray } from '../../domain/is-object.ts'
import type { PolicyDecision } from '../../schemas/policy.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure, usage } from '../io/failure.ts'
import { readObjects, type InputObject } from '../io/input.ts'
import type { Action } from '../io/runner.ts'
import { isFatal } from '../apply/exit-codes.ts'
import { rowsView } from '../output/views.ts'

interface Flags {
  readonly conf?: string
}

const decisions = effects
/** Members of a case that name the caller and the call, as the gateway takes them; `item` is its `name`. */
const callMembers = ['user', 'client', 'groups', 'oauth_client', 'scopes', 'endpoint', 'kind', 'args'] as const
/** Members of the gateway's decision that a case can expect. */
const expectations = ['decision', 'policy', 'hidden_by'] as const
const known = new Set<string>(['name', 'item', 'expect', ...callMembers])

type Expected = Readonly<Partial<Record<(typeof expectations)[number], unknown>>>

/** One call with the decision that is expected. */
interface Case {
  readonly title: string
  readonly call: Readonly<Record<string, unknown>>
  readonly expected: Expected
}

interface Outcome {
  readonly name: string
  readonly outcome: 'passed' | 'failed'
  /** One line for each difference; empty if passed. */
  readonly differences: readonly string[]
}

function expectedOf({ value, from }: InputObject): Expected {
  const { expect } = value
  const wanted = decisions.some((each) => each === expect) ? { decision: expect } : expect
  const names = isObject(wanted) ? Object.keys(wanted) : []
  if (!isObject(wanted) || names.length === 0 || !names.every((name) => expectations.some((each) => each === name)))
    throw usage(`${from}: "expect" must be ${effects.join(', ')}, or an object with ${expectations.join(', ')}`)
  return wanted
}

/** Returns a text as it is, a list with commas, any other value as JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return isStringArray(value) ? value.join(', ') : JSON.stringify(value)
}

function callerOf(value: InputObject['value']): string {
  const { user, client, groups } = value
  if (client !== undefined) return `client ${textOf(client)}`
  return user === undefined ? `somebody in ${textOf(groups)}` : `user ${textOf(user)}`
}

function toCase(input: InputObject): Case {
  const { value, from } = input
  const unknown = Object.keys(value).find((member) => !known.has(member))
  if (unknown !== undefined) throw usage(`${from}: "${unknown}" is not known; a case has ${[...known].join(', ')}`)
  const { name, item, kind = 'tool' } = value
  if (typeof item !== 'string') throw usage(`${from}: "item" is missing: <server>__<tool>, or the URI of a resource`)
  const given = callMembers.flatMap((member) => (value[member] === undefined ? [] : [[member, value[member]]]))
  return {
    title: typeof name === 'string' ? name : `${callerOf(value)}: ${item}`,
    call: { ...Object.fromEntries(given), kind, name: item },
    expected: expectedOf(input)
  }
}

/** Reads the cases of a file: a list, or an object with the list `cases`. */
async function readCases(cli: Cli, path: string): Promise<Case[]> {
  const inputs = (await readObjects(cli.io, path)).flatMap((input): InputObject[] => {
    const { cases } = input.value
    if (!Array.isArray(cases)) return [input]
    return cases.map((value: unknown, index) => {
      if (!isObject(value)) throw usage(`${input.from}: case ${index + 1} must be an object`)
      return { value, from: `${input.from}, case ${index + 1}` }
    })
  })
  if (inputs.length === 0) throw usage(`${path} contains no case`)
  return inputs.map(toCase)
}

const shown = (value: unknown) => (value === undefined ? 'none' : textOf(value))

/** Returns what differs, and for a wrong decision the policies that matched. */
function differencesOf(expected: Expected, decided: PolicyDecision): string[] {
  const wrong = expectations.filter((name) => name in expected && (expected[name] ?? undefined) !== decided[name])
  if (wrong.length === 0) return []
  const lines = wrong.map((name) => `${name}: expected ${shown(expected[name])}, is ${shown(decided[name])}`)
  const reason = decided.hidden_by === undefined ? '' : `, because of ${decided.policy ?? `the ${decided.hidden_by}`}`
  const matched = decided.matched.map(({ policy, effect, mode, condition, missing_scopes: missing = [] }) => {
    const facts = [effect, ...(mode === 'observe' ? [mode] : []), ...(condition ? [`condition ${condition}`] : [])]
    return `${policy} (${[...facts, ...(missing.length > 0 ? [`lacks ${missing.join(', ')}`] : [])].join(', ')})`
  })
  return [...lines, `the call is ${decided.decision === 'allow' ? 'allowed' : 'denied'}${reason}`].concat(
    matched.length > 0 ? `policies that match: ${matched.join('; ')}` : 'no policy matches'
  )
}

async function decide(cli: Cli, { title, call, expected }: Case, added: readonly object[]): Promise<Outcome> {
  try {
    const body = { ...call, ...(added.length > 0 && { with: added }) }
    const { body: decided } = await cli.api.post<PolicyDecision>('/api/v0/policies/simulate', body)
    const differences = differencesOf(expected, decided)
    return { name: title, outcome: differences.length === 0 ? 'passed' : 'failed', differences }
  } catch (error) {
    if (!(error instanceof Failure) || isFatal(error)) throw error
    return { name: title, outcome: 'failed', differences: [error.message] }
  }
}

/** Lines of failed cases; the others are only counted. */
const linesOf = ({ outcome, name, differences }: Outcome): string[] =>
  outcome === 'passed' ? [] : [`✗ ${name}`, ...differences.map((line) => `    ${line}`)]

/** Checks a table of calls against the decisions of the gateway; ends with 1 if one differs. */
export const testPolicies: Action<Flags> = async (cli, [path = ''], { conf }) => {
  const cases = await readCases(cli, path)
  const added = conf === undefined ? [] : (await readObjects(cli.io, conf)).map(({ value }) => value)
  const outcomes: Outcome[] = []
  for (const each of cases) outcomes.push(await decide(cli, each, added))
  const failed = outcomes.filter(({ outcome }) => outcome === 'failed')
  const columns = [
    { head: 'case', value: ({ name }: Outcome) => name },
    { head: 'outcome', value: ({ outcome }: Outcome) => outcome }
  ]
  const table = rowsView(columns, outcomes, ({ name }) => name)
  await cli.show(
    { body: { passed: outcomes.length - failed.length, failed: failed.length, cases: outcomes } },
    { ...table, table: () => outcomes.flatMap(linesOf).join('\n'), names: () => failed.map(({ name }) => name) }
  )
  cli.note(`${outcomes.length - failed.length} of ${outcomes.length} cases passed`)
  return failed.length === 0 ? EXIT.done : EXIT.failed
}
