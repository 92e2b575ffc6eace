/** Comparisons of an argument with texts (`is`, `is_not`, `like`) or with a number. */
export const comparisons = ['is', 'is_not', 'like', 'at_most', 'at_least'] as const
export type Comparison = (typeof comparisons)[number]

/** Part of a condition that people read and write without CEL; all parts must hold. */
export interface ArgumentTest {
  /** Names of members below `args`, joined by dots. */
  readonly argument: string
  readonly comparison: Comparison
  /** Texts of which one must be equal (`is`), or none (`is_not`); one glob, or one number. */
  readonly values: readonly string[]
}

const TEXT = String.raw`"(?:[^"\\]|\\.)*"`
const ARGUMENT = String.raw`args\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)`
const NUMBER = String.raw`-?\d{1,15}(?:\.\d{1,15})?`

const clauses = new RegExp(String.raw`(?:${TEXT}|[^"&]|&(?!&))+|&&`, 'g')
const texts = new RegExp(TEXT, 'g')
const LIST = String.raw`\[\s*((?:${TEXT}\s*,\s*)*${TEXT})\s*\]`

const patterns: readonly (readonly [Comparison, RegExp])[] = [
  ['is', new RegExp(`^${ARGUMENT}\\s*==\\s*(${TEXT})$`)],
  ['is', new RegExp(`^${ARGUMENT}\\s+in\\s*${LIST}$`)],
  ['is_not', new RegExp(`^${ARGUMENT}\\s*!=\\s*(${TEXT})$`)],
  ['is_not', new RegExp(`^!\\(\\s*${ARGUMENT}\\s+in\\s*${LIST}\\s*\\)$`)],
  ['like', new RegExp(`^like\\(\\s*${ARGUMENT}\\s*,\\s*(${TEXT})\\s*\\)$`)],
  ['at_most', new RegExp(`^${ARGUMENT}\\s*<=\\s*(${NUMBER})$`)],
  ['at_least', new RegExp(`^${ARGUMENT}\\s*>=\\s*(${NUMBER})$`)]
]

/** Returns the value of a text of CEL; undefined if JSON would read it differently. */
function readText(text: string): string | undefined {
  try {
    return JSON.parse(text) as string
  } catch {
    return undefined
  }
}

function readClause(clause: string): ArgumentTest | undefined {
  for (const [comparison, pattern] of patterns) {
    const [, argument, written] = pattern.exec(clause) ?? []
    if (argument === undefined || written === undefined) continue
    const isNumber = comparison === 'at_most' || comparison === 'at_least'
    const values = isNumber ? [written] : (written.match(texts) ?? []).map(readText)
    if (values.includes(undefined)) return undefined
    return { argument, comparison, values: values as string[] }
  }
  return undefined
}

/** Returns the tests of a condition in CEL that is a conjunction of comparisons of arguments; undefined for others. */
export function readSimpleCondition(when: string): readonly ArgumentTest[] | undefined {
  const parts = when.match(clauses) ?? []
  const isEnded = parts.length % 2 === 1
  if (!isEnded || parts.join('') !== when || parts.some((part, at) => (part === '&&') !== (at % 2 === 1)))
    return undefined
  const tests = parts.filter((part) => part !== '&&').map((part) => readClause(part.trim()))
  return tests.length > 0 && tests.every((test) => test !== undefined) ? tests : undefined
}

function writeTest({ argument, comparison, values }: ArgumentTest): string {
  const path = `args.${argument}`
  const [first = ''] = values
  const list = `[${values.map((value) => JSON.stringify(value)).join(', ')}]`
  if (comparison === 'at_most') return `${path} <= ${first}`
  if (comparison === 'at_least') return `${path} >= ${first}`
  if (comparison === 'like') return `like(${path}, ${JSON.stringify(first)})`
  if (values.length > 1) return comparison === 'is' ? `${path} in ${list}` : `!(${path} in ${list})`
  return `${path} ${comparison === 'is' ? '==' : '!='} ${JSON.stringify(first)}`
}

/** Returns the condition in CEL; `readSimpleCondition` returns the same tests again. */
export const writeSimpleCondition = (tests: readonly ArgumentTest[]): string => tests.map(writeTest).join(' && ')
