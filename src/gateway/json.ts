import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  LOWER_E,
  MINUS,
  NINE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  PLUS,
  POINT,
  QUOTE,
  SPACE,
  UPPER_E,
  ZERO
} from './json-characters.ts'

/**
 * Reads the structure of JSON text without building values: where members and elements begin and end, so that what is
 * not ours passes byte for byte (architecture, ideas 1 and 4). Offsets are into the text given; on the `latin1Slice()` of
 * UTF-8 bytes they are byte offsets, since all JSON punctuation is ASCII. Grammar is strict outside of strings; what
 * stands inside a string is looked at where the limits say so.
 */

export interface Span {
  readonly start: number
  /** Offset behind the last character. */
  readonly end: number
}

export interface Member extends Span {
  readonly key: string
  /** Offset of the key's opening quote; start and end are the value's. */
  readonly keyStart: number
  /** Of the value, where it is an object whose members were asked for. */
  readonly members?: readonly Member[] | undefined
}

export interface JsonLimits {
  readonly depth: number
  readonly elements: number
  /** Whether strings are checked too: then what passes is JSON, and nobody else has to look. */
  readonly checksStrings?: boolean
  /**
   * Of values only brackets and strings are looked at: finds the parts of text that is to be checked part by part, so that
   * one malformed part does not cost the others.
   */
  readonly isLoose?: boolean
}

export type JsonProblem = 'syntax' | 'depth' | 'elements' | 'duplicate'

export class JsonError extends Error {
  readonly problem: JsonProblem

  constructor(problem: JsonProblem, message: string) {
    super(message)
    this.name = 'JsonError'
    this.problem = problem
  }
}

/** Nesting that no text may pass, ours or an upstream's (http-contract.md#errors). */
export const MAX_DEPTH = 64
/** Members of one object, or elements of one array, that are listed: each takes memory, and comes from anybody. */
export const MAX_MEMBERS = 100_000
export const defaultLimits: JsonLimits = { depth: MAX_DEPTH, elements: Infinity }

export const syntaxError = (at: number) => new JsonError('syntax', `malformed JSON at position ${at}`)

/** Offset of the next character that is not white space. */
export function skipSpace(text: string, at: number): number {
  let i = at
  for (;;) {
    const code = text.charCodeAt(i)
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return i
    i++
  }
}

export function skipString(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) throw syntaxError(at)
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    if (((end - before) & 1) === 1) return end + 1
  }
  throw syntaxError(text.length)
}

const ESCAPED = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y

/** Behind what follows a backslash. */
function skipEscape(text: string, at: number): number {
  ESCAPED.lastIndex = at
  if (!ESCAPED.test(text)) throw syntaxError(at)
  return ESCAPED.lastIndex
}

function skipCheckedString(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) throw syntaxError(at)
  for (let i = at + 1; i < text.length;) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) return i + 1
    if (code < SPACE) throw syntaxError(i)
    i = code === BACKSLASH ? skipEscape(text, i + 1) : i + 1
  }
  throw syntaxError(text.length)
}

const isDigit = (code: number) => code >= ZERO && code <= NINE

function skipDigits(text: string, at: number): number {
  if (!isDigit(text.charCodeAt(at))) throw syntaxError(at)
  let i = at + 1
  while (isDigit(text.charCodeAt(i))) i++
  return i
}

function skipNumber(text: string, at: number): number {
  let i = text.charCodeAt(at) === MINUS ? at + 1 : at
  i = text.charCodeAt(i) === ZERO ? i + 1 : skipDigits(text, i)
  if (text.charCodeAt(i) === POINT) i = skipDigits(text, i + 1)
  const mark = text.charCodeAt(i)
  if (mark !== UPPER_E && mark !== LOWER_E) return i
  const sign = text.charCodeAt(i + 1)
  return skipDigits(text, sign === PLUS || sign === MINUS ? i + 2 : i + 1)
}

function skipScalar(text: string, at: number, skipText: typeof skipString): number {
  const code = text.charCodeAt(at)
  if (code === QUOTE) return skipText(text, at)
  if (code === MINUS || isDigit(code)) return skipNumber(text, at)
  for (const word of ['true', 'false', 'null']) if (text.startsWith(word, at)) return at + word.length
  throw syntaxError(at)
}

/** Behind the colon that follows a key, at the value. `at` is behind the key. */
function skipColon(text: string, at: number): number {
  const colon = skipSpace(text, at)
  if (text.charCodeAt(colon) !== COLON) throw syntaxError(colon)
  return skipSpace(text, colon + 1)
}

/** How one reading is done, and what it has taken of what it may, counted over all values that it passes. */
interface Reading {
  readonly limits: JsonLimits
  readonly path: KeyPath
  readonly skipText: typeof skipString
  elements: number
  /** Offset behind the object whose members were read last. */
  end: number
}

const createReading = (limits: JsonLimits, path = noKeys): Reading => ({
  limits,
  path,
  skipText: limits.checksStrings ? skipCheckedString : skipString,
  elements: 0,
  end: 0
})

export const tooManyElements = (max: number) => new JsonError('elements', `JSON holds more than ${max} elements`)

function countElement(state: Reading): void {
  if (++state.elements > state.limits.elements) throw tooManyElements(state.limits.elements)
}

/** Adds to a list of members or elements. Throws JsonError. */
export function pushBounded<T>(list: T[], entry: T): void {
  if (list.length === MAX_MEMBERS) throw tooManyElements(MAX_MEMBERS)
  list.push(entry)
}

const tooDeep = ({ limits }: Reading) => new JsonError('depth', `JSON is nested deeper than ${limits.depth} levels`)

/** Offset behind the value that begins at `at`. Throws JsonError. */
export const skipValue = (text: string, at: number, limits: JsonLimits = defaultLimits): number =>
  skip(text, at, createReading(limits), limits.depth)

const MARKS = /["{}[\]]/g
const ENDS = /[\]},]/g

/** Offset of the next such character, which has to be there. */
function nextOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  if (!pattern.test(text)) throw syntaxError(text.length)
  return pattern.lastIndex - 1
}

function skipLoosely(text: string, at: number, state: Reading): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return state.skipText(text, at)
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return nextOf(ENDS, text, at)
  const open = [first + 2]
  for (let i = nextOf(MARKS, text, at + 1); ; i = nextOf(MARKS, text, i)) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      i = state.skipText(text, i)
      continue
    }
    i++
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (open.push(code + 2) > state.limits.depth) throw tooDeep(state)
    } else {
      if (code !== open.pop()) throw syntaxError(i - 1)
      if (open.length === 0) return i
    }
  }
}

/** `depth`: how deep the value may be. */
function skip(text: string, at: number, state: Reading, depth: number): number {
  const first = text.charCodeAt(at)
  const { skipText } = state
  if (state.limits.isLoose) return skipLoosely(text, at, state)
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipScalar(text, at, skipText)
  const open: number[] = []
  let i = at
  for (;;) {
    const code = text.charCodeAt(i)
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (open.length === depth) throw tooDeep(state)
      const first = skipSpace(text, i + 1)
      if (text.charCodeAt(first) !== code + 2) {
        open.push(code + 2)
        i = code === OPEN_OBJECT ? skipColon(text, skipText(text, first)) : first
        continue
      }
      i = first + 1
    } else {
      i = skipScalar(text, i, skipText)
    }
    // behind a value: close what ends here, or go to the next element
    for (;;) {
      if (open.length === 0) return i
      i = skipSpace(text, i)
      const next = text.charCodeAt(i)
      if (next === open[open.length - 1]) {
        open.pop()
        i++
        continue
      }
      if (next !== COMMA) throw syntaxError(i)
      countElement(state)
      i = skipSpace(text, i + 1)
      if (open[open.length - 1] === CLOSE_OBJECT) i = skipColon(text, skipText(text, i))
      break
    }
  }
}

/** Checks that the text is one value and nothing else, within the limits. Throws JsonError. */
export function checkJson(text: string, limits: JsonLimits): void {
  const end = skipSpace(text, skipValue(text, skipSpace(text, 0), limits))
  if (end !== text.length) throw syntaxError(end)
}

/** A key from its JSON text, which begins at `start`. */
export const readKey = (text: string, start = 0, end = text.length): string => {
  const key = text.slice(start + 1, end - 1)
  if (!key.includes('\\')) return key
  try {
    return JSON.parse(text.slice(start, end)) as string
  } catch {
    throw syntaxError(start)
  }
}

/** A key that cannot be read is one that nobody asks for. */
export function looseKey(text: string, start = 0, end = text.length): string {
  try {
    return readKey(text, start, end)
  } catch {
    return text.slice(start, end)
  }
}

/** Keys that lead to what is read with the members around it: the object under the first, in that the one under the second. */
export type KeyPath = readonly string[]

const noKeys: KeyPath = []

/**
 * The members of the object at `at` (white space allowed before it), values unread but for what is on the path. The
 * depth is that of the values, elements are counted over all of them. Throws JsonError.
 */
export const members = (text: string, at = 0, limits: JsonLimits = defaultLimits, path: KeyPath = noKeys): Member[] =>
  readMembers(text, skipSpace(text, at), createReading(limits, path), 0)

/** As `members`, of an object that is the whole text. Throws JsonError. */
export function wholeMembers(text: string, limits: JsonLimits, path: KeyPath): Member[] {
  const state = createReading(limits, path)
  const found = readMembers(text, skipSpace(text, 0), state, 0)
  const end = skipSpace(text, state.end)
  if (end !== text.length) throw syntaxError(end)
  return found
}

/** `level`: how far down the path this object is. */
function readMembers(text: string, at: number, state: Reading, level: number): Member[] {
  const onPath = state.path[level]
  const depth = state.limits.depth - level
  if (text.charCodeAt(at) !== OPEN_OBJECT) throw syntaxError(at)
  const found: Member[] = []
  let i = skipSpace(text, at + 1)
  if (text.charCodeAt(i) === CLOSE_OBJECT) {
    state.end = i + 1
    return found
  }
  for (;;) {
    const keyStart = i
    const keyEnd = state.skipText(text, i)
    const start = skipColon(text, keyEnd)
    const key = state.limits.isLoose ? looseKey(text, keyStart, keyEnd) : readKey(text, keyStart, keyEnd)
    let own: Member[] | undefined
    if (key === onPath && text.charCodeAt(start) === OPEN_OBJECT) {
      if (depth === 0) throw tooDeep(state)
      own = readMembers(text, start, state, level + 1)
    }
    const end = own ? state.end : skip(text, start, state, depth)
    pushBounded(found, { key, keyStart, start, end, members: own })
    i = skipSpace(text, end)
    if (text.charCodeAt(i) === CLOSE_OBJECT) {
      state.end = i + 1
      return found
    }
    if (text.charCodeAt(i) !== COMMA) throw syntaxError(i)
    countElement(state)
    i = skipSpace(text, i + 1)
  }
}

const duplicate = (key: string) => new JsonError('duplicate', `member "${key.slice(0, 40)}" is given twice`)

/** Up to here looking at each pair is cheaper than a set; past it it would be quadratic. */
const MAX_PAIRWISE = 16

/** Refuses repeated keys where an object decides something, so that nobody can read another value. Throws JsonError. */
export function checkUnique(found: readonly Member[]): void {
  if (found.length > MAX_PAIRWISE) {
    const seen = new Set<string>()
    for (const { key } of found) if (seen.size === seen.add(key).size) throw duplicate(key)
    return
  }
  for (let i = 1; i < found.length; i++) {
    const { key } = found[i]!
    for (let j = 0; j < i; j++) if (found[j]!.key === key) throw duplicate(key)
  }
}

/** The elements of the array at `at`, one after the other: there may be hundreds of thousands. Throws JsonError. */
export function* eachElement(text: string, at = 0): Generator<Span> {
  let i = skipSpace(text, at)
  if (text.charCodeAt(i) !== OPEN_ARRAY) throw syntaxError(i)
  i = skipSpace(text, i + 1)
  if (text.charCodeAt(i) === CLOSE_ARRAY) return
  for (;;) {
    const end = skipValue(text, i)
    yield { start: i, end }
    i = skipSpace(text, end)
    if (text.charCodeAt(i) === CLOSE_ARRAY) return
    if (text.charCodeAt(i) !== COMMA) throw syntaxError(i)
    i = skipSpace(text, i + 1)
  }
}

/** The elements of the array at `at`, as many as an object may have members. Throws JsonError. */
export function elements(text: string, at = 0): Span[] {
  const found: Span[] = []
  for (const element of eachElement(text, at)) pushBounded(found, element)
  return found
}

/** The value of JSON text that has been checked, strings included. Most are plain strings and numbers. */
/** V8 copies a part of a text up to this length, quotes included. */
const LONGEST_COPIED = 14

export function readValue(text: string, { start, end }: Span): unknown {
  const value = text.slice(start, end)
  const first = value.charCodeAt(0)
  // a longer part of a text keeps the whole of it in memory, and names are kept: JSON.parse copies
  if (first === QUOTE && value.length <= LONGEST_COPIED && !value.includes('\\')) return value.slice(1, -1)
  return isDigit(first) ? Number(value) : JSON.parse(value)
}

/** The value of a member as text, undefined where there is none. The last wins, as with JSON.parse. */
export function valueOf(text: string, found: readonly Member[], key: string): string | undefined {
  for (let i = found.length - 1; i >= 0; i--) {
    const member = found[i]!
    if (member.key === key) return text.slice(member.start, member.end)
  }
  return undefined
}

/** A copy of the value of a member that is a text; undefined where it is anything else. Throws JsonError. */
export function stringOf(text: string, found: readonly Member[], key: string): string | undefined {
  const value = valueOf(text, found, key)
  if (!value?.startsWith('"')) return undefined
  try {
    return JSON.parse(value) as string
  } catch {
    throw syntaxError(0)
  }
}

/**
 * An object as text with some members' values replaced (string) or taken out (null); everything else, order and
 * white space of the values included, stays as it is. Members that are not there are not added.
 */
export function withMembers(
  text: string,
  changes: Readonly<Record<string, string | null>>,
  found: readonly Member[] = members(text)
): string {
  const parts: string[] = []
  for (const { key, keyStart, start, end } of found) {
    const change = Object.hasOwn(changes, key) ? changes[key] : undefined
    if (change === null) continue
    parts.push(change === undefined ? text.slice(keyStart, end) : `${text.slice(keyStart, start)}${change}`)
  }
  return `{${parts.join(',')}}`
}
