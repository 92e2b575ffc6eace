const digits = Symbol('digits')

/** A number that a double would change, kept as it was typed: an id beyond 2^53 passes through a form unharmed. */
export interface ExactNumber {
  readonly [digits]: string
}

export interface JsonObject {
  readonly [name: string]: Json
}

export type Json = null | boolean | number | string | ExactNumber | readonly Json[] | JsonObject

/** Names of members and positions in lists, from the root. */
export type Path = readonly (string | number)[]

export const isExact = (value: unknown): value is ExactNumber =>
  typeof value === 'object' && value !== null && digits in value

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExact(value)

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Significant digits and the place of the last one, so that `1.0`, `1` and `10e-1` are the same. */
function canonical(text: string): string {
  const [, sign, whole = '', part = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const all = (whole + part).replace(/^0+/, '')
  const significant = all.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(power) - part.length + all.length - significant.length}`
}

const isLossy = (text: string): boolean => canonical(String(Number(text))) !== canonical(text)

/** The number that a text says in JSON's grammar, or undefined. */
export function numberOf(text: string): number | ExactNumber | undefined {
  const trimmed = text.trim()
  if (!number.test(trimmed)) return undefined
  return isLossy(trimmed) ? { [digits]: trimmed } : Number(trimmed)
}

/** Text of a number, as it was typed or as JSON has it. */
export const numberText = (value: number | ExactNumber): string => (isExact(value) ? value[digits] : String(value))

/** Strings are matched whole, so that no digits inside of them are taken for a number. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** As `JSON.parse`, its SyntaxError included, but numbers that a double would change stay exact. */
export function parseJson(text: string): Json {
  const plain = JSON.parse(text) as Json
  const mark = `exact ${Math.random()} `
  let isMarked = false
  const marked = text.replace(tokens, (token) => {
    if (token.startsWith('"') || !isLossy(token)) return token
    isMarked = true
    return `"${mark}${token}"`
  })
  if (!isMarked) return plain
  return JSON.parse(marked, (_name, value: Json) =>
    typeof value === 'string' && value.startsWith(mark) ? { [digits]: value.slice(mark.length) } : value
  ) as Json
}

/** JSON text; `indent` 0 for one line. */
export function printJson(value: Json, indent = 2, margin = ''): string {
  if (isExact(value)) return value[digits]
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = margin + ' '.repeat(indent)
  const parts = Array.isArray(value)
    ? value.map((item: Json) => printJson(item, indent, inner))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}:${indent > 0 ? ' ' : ''}${printJson(item, indent, inner)}`
      )
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  if (indent === 0) return `${open}${parts.join(',')}${close}`
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${margin}${close}`
}

/** With doubles only, for those who cannot use more (validators). */
export function plainJson(value: Json): unknown {
  if (isExact(value)) return Number(value[digits])
  if (Array.isArray(value)) return value.map(plainJson)
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plainJson(item)]))
  return value
}

export function equalJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined) return false
  if (isExact(a) || isExact(b)) return isExact(a) && isExact(b) && canonical(a[digits]) === canonical(b[digits])
  if (isList(a) || isList(b)) {
    return isList(a) && isList(b) && a.length === b.length && a.every((item, i) => equalJson(item, b[i]))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equalJson(a[name], b[name]))
  )
}

/** What stands at a path, or undefined. */
export function at(value: Json | undefined, path: Path): Json | undefined {
  let here = value
  for (const step of path) {
    if (typeof step === 'number') here = isList(here) ? here[step] : undefined
    else here = isJsonObject(here) && Object.hasOwn(here, step) ? here[step] : undefined
  }
  return here
}

function withItem(list: readonly Json[], index: number, next: Json | undefined): Json {
  if (next === undefined) return list.toSpliced(index, 1)
  return index < list.length ? list.with(index, next) : [...list, next]
}

function withMember(object: JsonObject, name: string, next: Json | undefined): Json {
  if (next !== undefined) return { ...object, [name]: next }
  return Object.fromEntries(Object.entries(object).filter(([other]) => other !== name))
}

/** A copy in which `next` stands at the path; undefined takes it away. What is missing on the way is made. */
export function put(value: Json | undefined, path: Path, next: Json | undefined): Json | undefined {
  const [step, ...rest] = path
  if (step === undefined) return next
  if (typeof step === 'number') {
    const list = isList(value) ? value : []
    return withItem(list, step, put(list[step], rest, next))
  }
  const object = isJsonObject(value) ? value : {}
  return withMember(object, step, put(at(object, [step]), rest, next))
}
