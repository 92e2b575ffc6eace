import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { isObject } from '../../domain/is-object.ts'
import { loadConditions, type CompileCondition } from '../../domain/policy/condition.ts'
import { toRule, type RuleInput } from '../../domain/policy/input.ts'
import { problemsOf } from '../../domain/policy/problems.ts'
import { POLICY_LIMITS, type PolicyRule } from '../../domain/policy/rule.ts'
import { StartupError } from '../../lib/startup-error.ts'
import type { StoredPolicy } from '../../registry/model/model.ts'
import { PolicyInput } from '../../schemas/policy.ts'
import { createBodyCheck } from '../../validation/validators.ts'

/** Every policy with the longest condition and reason, and lists of a usual length. */
const MAX_BYTES = 16_777_216
const MAX_SHOWN = 5
const VARIABLE = 'TOWPATH_POLICY_FILE'

/** Policies of a file. */
export interface PolicyFile {
  readonly policies: readonly StoredPolicy[]
  /** SHA-256 of the file as hexadecimal digits, to compare replicas. */
  readonly digest: string
}

const fail = (path: string, reason: string, options?: ErrorOptions): never => {
  throw new StartupError(`${VARIABLE}: ${path}: ${reason}`, options)
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size > MAX_BYTES) return fail(path, `it has more than ${MAX_BYTES / 1_048_576} MiB`)
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof StartupError) throw cause
    const { code } = cause as NodeJS.ErrnoException
    return fail(path, code === 'ENOENT' ? 'the file does not exist' : 'the file cannot be read', { cause })
  }
}

/** Parses YAML, which JSON is a part of. */
async function parse(path: string, text: string): Promise<unknown> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text)
  const [error] = document.errors
  if (error) return fail(path, `not valid YAML (line ${error.linePos?.[0].line ?? 1}: ${error.code})`)
  try {
    return document.toJS() as unknown
  } catch (cause) {
    // too many aliases
    return fail(path, 'not usable as YAML', { cause })
  }
}

const checkBody = createBodyCheck(PolicyInput)

/** Returns the rule of an entry, and why it cannot be used. */
async function readEntry(entry: unknown, load: () => Promise<CompileCondition>) {
  const problem = checkBody(entry)
  if (problem !== undefined) return { problems: [problem] }
  const { name, ...input } = entry as RuleInput & { readonly name: string }
  const rule = toRule(name, input)
  return { rule, problems: await problemsOf(rule, load) }
}

const placeOf = (entry: unknown, index: number) =>
  isObject(entry) && typeof entry['name'] === 'string'
    ? `policy ${JSON.stringify(entry['name'].slice(0, 64))}`
    : `policy ${index + 1}`

function wholeProblems(rules: readonly PolicyRule[]): string[] {
  const seen = new Set<string>()
  const twice = rules.filter(({ name }) => seen.size === seen.add(name).size)
  const scopes = new Set(rules.flatMap(({ requireScopes }) => requireScopes))
  const { scopesInAll } = POLICY_LIMITS
  return [
    ...twice.map(({ name }) => `policy "${name}" is there twice`),
    ...(scopes.size > scopesInAll ? [`all policies together can require ${scopesInAll} scopes`] : [])
  ]
}

/**
 * Reads policies as code: a YAML or JSON file with a list of policies, as `towpath apply` takes it. Rejects with a StartupError that names the places of the first problems.
 */
export async function readPolicyFile(path: string): Promise<PolicyFile> {
  const text = await readText(path)
  const entries = (await parse(path, text)) ?? []
  if (!Array.isArray(entries)) return fail(path, 'it must contain a list of policies')
  if (entries.length > POLICY_LIMITS.policies) return fail(path, `it has more than ${POLICY_LIMITS.policies} policies`)
  let loading: Promise<CompileCondition> | undefined
  const load = () => (loading ??= loadConditions())
  const rules: PolicyRule[] = []
  const problems: string[] = []
  for (const [index, entry] of entries.entries()) {
    const read = await readEntry(entry, load)
    problems.push(...read.problems.map((problem) => `${placeOf(entry, index)}: ${problem}`))
    if (read.rule) rules.push(read.rule)
  }
  problems.push(...wholeProblems(rules))
  if (problems.length > 0) {
    const more = problems.length > MAX_SHOWN ? `; and ${problems.length - MAX_SHOWN} more problems` : ''
    return fail(path, `${problems.slice(0, MAX_SHOWN).join('; ')}${more}`)
  }
  const digest = createHash('sha256').update(text).digest('hex')
  const policies = rules.map((rule, index) => ({
    ...rule,
    source: 'file' as const,
    position: index + 1,
    revision: '0'
  }))
  return { policies, digest }
}
