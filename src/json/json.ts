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
} from './characters.ts'

/**
 * Parses the structure of JSON text without building values: the offsets of members and elements, so that everything
 * that the gateway does not interpret is passed on byte for byte (architecture.md#main-design-decisions). Offsets are
 * into the given text; on the `latin1Slice()` of UTF-8 bytes they are byte offsets, since all JSON punctuation is
 * ASCII. The grammar is strict outside strings; strings are checked only with `checksStrings`.
 */

export interface Span {
  readonly start: number
  /** Offset after the last character. */
  readonly end: number
}

export interface Member extends Span {
  readonly key: string
  /** Offset of the key's opening quotation mark; `start` and `end` are those of the value. */
  readonly keyStart: number
  /** Members of the value, if the value is an object on the key path. */
  readonly members?: readonly Member[] | undefined
}

export interface JsonLimits {
  readonly depth: number
  readonly elements: number
  /** Maximum members of each object that is listed; default: `MAX_MEMBERS`. */
  readonly members?: number
  /**
   * Checks the contents of strings too: text that passes is then valid JSON. `spaces`: only that they contain no line
   * breaks and tabs, in a text that `textSteps` has checked for everything else.
   */
  readonly checksStrings?: boolean | 'spaces'
}

export type JsonProblem = 'syntax' | 'depth' | 'elements' | 'duplicate'

/** An error without a stack trace: an upstream can cause thousands per second, and its message says where it is. */
export class JsonError extends Error {
  readonly problem: JsonProblem

  constructor(problem: JsonProblem, message: string) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'JsonError'
    this.problem = problem
  }
}

/** Maximum nesting of any JSON text, of clients and of upstreams (http-contract.md#errors). */
export const MAX_DEPTH = 64
/** Maximum members of an object, or elements of an array, that are listed: each uses memory in untrusted input. */
export const MAX_MEMBERS = 100_000
/** Limits without a maximum of elements in total. */
export const defaultLimits = { depth: MAX_DEPTH, elements: Infinity } satisfies JsonLimits

export const syntaxError = (at: number) => new JsonError('syntax', `malformed JSON at position ${at}`)

/** Returns the offset of the next character that is not white space. */
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

/** Returns the offset after an escape. `at`: offset after the backslash. */
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

/** Length up to which a string is searched character by character: three calls of `indexOf` cost as much. */
const SHORT = 64
const spaces = ['\n', '\t', '\r']

function skipSpacedString(text: string, at: number): number {
  const end = skipString(text, at)
  if (end - at <= SHORT) {
    for (let i = at; i < end; i++) if (text.charCodeAt(i) < SPACE) throw syntaxError(i)
    return end
  }
  const part = text.slice(at, end)
  if (spaces.some((space) => part.includes(space))) throw syntaxError(at)
  return end
}

function skipperOf({ checksStrings }: JsonLimits): typeof skipString {
  if (!checksStrings) return skipString
  return checksStrings === 'spaces' ? skipSpacedString : skipCheckedString
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

/** Returns the offset of a member's value. `at`: offset after the key. */
function skipColon(text: string, at: number): number {
  const colon = skipSpace(text, at)
  if (text.charCodeAt(colon) !== COLON) throw syntaxError(colon)
  return skipSpace(text, colon + 1)
}

/** Options and state of one parse. */
interface ParseState {
  readonly limits: JsonLimits
  readonly path: KeyPath
  readonly skipText: typeof skipString
  /** Elements so far, over all values. */
  elements: number
  /** Offset after the object whose members were parsed last. */
  end: number
}

const createState = (limits: JsonLimits, path = noKeys): ParseState => ({
  limits,
  path,
  skipText: skipperOf(limits),
  elements: 0,
  end: 0
})

export const tooManyElements = (max: number) => new JsonError('elements', `JSON has more than ${max} elements`)

function countElement(state: ParseState): void {
  if (++state.elements > state.limits.elements) throw tooManyElements(state.limits.elements)
}

/** Appends a member or element. Throws JsonError if the list is full. */
export function pushBounded<T>(list: T[], entry: T, max = MAX_MEMBERS): void {
  if (list.length === max) throw tooManyElements(max)
  list.push(entry)
}

export const tooDeep = ({ depth }: Pick<JsonLimits, 'depth'>) =>
  new JsonError('depth', `JSON is nested deeper than ${depth} levels`)

/** Returns the offset after the value at `at`. Throws JsonError. */
export const skipValue = (text: string, at: number, limits: JsonLimits = defaultLimits): number =>
  skip(text, at, createState(limits), limits.depth)

/** Returns the offset after the value at `at`. `depth`: maximum nesting of the value. */
function skip(text: string, at: number, state: ParseState, depth: number): number {
  const first = text.charCodeAt(at)
  const { skipText } = state
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return skipScalar(text, at, skipText)
  const open: number[] = []
  let i = at
  for (;;) {
    const code = text.charCodeAt(i)
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (open.length === depth) throw tooDeep(state.limits)
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
    // after a value: closes the objects and arrays that end here, or moves to the next element
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

/** Checks that the text is exactly one JSON value within the limits. Throws JsonError. */
export function checkJson(text: string, limits: JsonLimits): void {
  const end = skipSpace(text, skipValue(text, skipSpace(text, 0), limits))
  if (end !== text.length) throw syntaxError(end)
}

/** Decodes a key from its JSON text at `start`. Throws JsonError. */
export const readKey = (text: string, start = 0, end = text.length): string => {
  const key = text.slice(start + 1, end - 1)
  if (!key.includes('\\')) return key
  try {
    return JSON.parse(text.slice(start, end)) as string
  } catch {
    throw syntaxError(start)
  }
}

/**
 * Key path parsed in the same pass, outermost first: `['params', '_meta']` also yields the members of `params._meta`.
 */
export type KeyPath = readonly string[]

const noKeys: KeyPath = []

/**
 * Returns the members of the object at `at`, after optional white space. Values are not parsed, except objects on the
 * key path. `limits.depth` applies to each value, `limits.elements` to all of them together. Throws JsonError.
 */
export const members = (text: string, at = 0, limits: JsonLimits = defaultLimits, path: KeyPath = noKeys): Member[] =>
  readMembers(text, skipSpace(text, at), createState(limits, path), 0)

/** Does the same as `members` for a text that is exactly one object. Throws JsonError. */
export function wholeMembers(text: string, limits: JsonLimits, path: KeyPath): Member[] {
  const state = createState(limits, path)
  const found = readMembers(text, skipSpace(text, 0), state, 0)
  const end = skipSpace(text, state.end)
  if (end !== text.length) throw syntaxError(end)
  return found
}

/** Parses the members of one object. `level`: index of the object's next key in the path. */
function readMembers(text: string, at: number, state: ParseState, level: number): Member[] {
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
    const key = readKey(text, keyStart, keyEnd)
    let own: Member[] | undefined
    if (key === onPath && text.charCodeAt(start) === OPEN_OBJECT) {
      if (depth === 0) throw tooDeep(state.limits)
      own = readMembers(text, start, state, level + 1)
    }
    const end = own ? state.end : skip(text, start, state, depth)
    pushBounded(found, { key, keyStart, start, end, members: own }, state.limits.members)
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

/** Members up to which comparing all pairs is cheaper than building a set. */
const MAX_PAIRWISE = 16

/** Throws JsonError on a duplicate key, so that no other parser can read a different value of the same object. */
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

/** Yields the elements of the array at `at`, of which there may be hundreds of thousands. Throws JsonError. */
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

/** Returns the elements of the array at `at`. Throws JsonError, also for more than `MAX_MEMBERS`. */
export function elements(text: string, at = 0): Span[] {
  const found: Span[] = []
  for (const element of eachElement(text, at)) pushBounded(found, element)
  return found
}

/** Length up to which V8 copies a substring, quotation marks included. */
const LONGEST_COPIED = 14

/** Decodes a value of valid JSON text. Most values are plain strings and numbers, which need no JSON.parse. */
export function readValue(text: string, { start, end }: Span): unknown {
  const value = text.slice(start, end)
  const first = value.charCodeAt(0)
  // a longer substring would keep the whole text in memory: JSON.parse copies it
  if (first === QUOTE && value.length <= LONGEST_COPIED && !value.includes('\\')) return value.slice(1, -1)
  return isDigit(first) ? Number(value) : JSON.parse(value)
}

/** Returns a member's value as JSON text; undefined if absent. The last duplicate wins, as in JSON.parse. */
export function valueOf(text: string, found: readonly Member[], key: string): string | undefined {
  for (let i = found.length - 1; i >= 0; i--) {
    const member = found[i]!
    if (member.key === key) return text.slice(member.start, member.end)
  }
  return undefined
}

/** Returns a copy of a member's string value; undefined if the value is absent or no string. Throws JsonError. */
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
 * Returns an object's JSON text with some members replaced (string) or removed (null). All other members keep their
 * order and exact text. Members that are absent are not added.
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

/**
 * Returns an object's JSON text with some members replaced or added (string), or removed (null). All other members keep
 * their order and exact text; new ones come last.
 */
export function editMembers(
  text: string,
  changes: ReadonlyMap<string, string | null>,
  found: readonly Member[] = members(text)
): string {
  const parts: string[] = []
  const added = new Map(changes)
  for (const { key, keyStart, start, end } of found) {
    added.delete(key)
    const change = changes.get(key)
    if (change === null) continue
    parts.push(change === undefined ? text.slice(keyStart, end) : `${text.slice(keyStart, start)}${change}`)
  }
  for (const [key, change] of added) if (change !== null) parts.push(`${JSON.stringify(key)}:${change}`)
  return `{${parts.join(',')}}`
}
