const digits = Symbol('digits')

/** Number that a double would change, kept as typed: ids beyond 2^53 survive the form. */
export interface ExactNumber {
  readonly [digits]: string
}

export interface JsonObject {
  readonly [name: string]: Json
}

export type Json = null | boolean | number | string | ExactNumber | readonly Json[] | JsonObject

/** Member names and array positions, from the root. */
export type Path = readonly (string | number)[]

export const isExact = (value: unknown): value is ExactNumber =>
  typeof value === 'object' && value !== null && digits in value

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExact(value)

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value)

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Returns the significant digits and the exponent, so that `1.0`, `1` and `10e-1` are equal. */
function canonical(text: string): string {
  const [, sign, whole = '', part = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const all = (whole + part).replace(/^0+/, '')
  const significant = all.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(power) - part.length + all.length - significant.length}`
}

const isLossy = (text: string): boolean => canonical(String(Number(text))) !== canonical(text)

/** Parses text as a JSON number; undefined if it is none. */
export function numberOf(text: string): number | ExactNumber | undefined {
  const trimmed = text.trim()
  if (!number.test(trimmed)) return undefined
  return isLossy(trimmed) ? { [digits]: trimmed } : Number(trimmed)
}

/** Returns the text of a number, as typed or as JSON prints it. */
export const numberText = (value: number | ExactNumber): string => (isExact(value) ? value[digits] : String(value))

/** Matches whole strings, so that digits inside them are not taken for numbers. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Like `JSON.parse`, including its SyntaxError, but keeps numbers exact that a double would change. */
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

/** Returns JSON text; `indent` 0 prints one line. */
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

/** Converts exact numbers to doubles, for libraries that cannot handle them (validators). */
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

/** Returns the value at a path, or undefined. */
export function getAt(value: Json | undefined, path: Path): Json | undefined {
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

/** Returns a copy with `next` at the path; undefined removes it. Missing containers are created. */
export function setAt(value: Json | undefined, path: Path, next: Json | undefined): Json | undefined {
  const [step, ...rest] = path
  if (step === undefined) return next
  if (typeof step === 'number') {
    const list = isList(value) ? value : []
    return withItem(list, step, setAt(list[step], rest, next))
  }
  const object = isJsonObject(value) ? value : {}
  return withMember(object, step, setAt(getAt(object, [step]), rest, next))
}
