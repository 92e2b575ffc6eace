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
import { complete } from '../lib/time-slice.ts'
import { isInScanBuffer, scanEndOfString } from './scan.ts'
import {
  pushBounded,
  type JsonLimits,
  type KeyPath,
  readKey,
  syntaxError,
  tooDeep,
  tooManyElements,
  defaultLimits,
  type Member
} from './json.ts'

/** Bytes scanned before a call of `indexOf`, which costs as much as scanning a few hundred bytes. */
const WINDOW = 256
/** Bytes scanned before a call of the WebAssembly scan, which costs as much as scanning this many. */
const NEAR = 24
/** Bytes scanned in WebAssembly before a call of `indexOf`, which is faster in long text without quotation marks. */
const FAR = 1_024

const words = [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')]

/** Returns the offset of the next byte that is not white space. */
export function skipSpaceBytes(bytes: Buffer, at: number): number {
  let i = at
  for (;;) {
    const byte = bytes[i]
    if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) return i
    i++
  }
}

function skipString(bytes: Buffer, at: number): number {
  if (bytes[at] !== QUOTE) throw syntaxError(at)
  return isInScanBuffer(bytes) ? skipScanned(bytes, at + 1) : skipUnscanned(bytes, at + 1)
}

function skipScanned(bytes: Buffer, at: number): number {
  let i = at
  for (const near = Math.min(at + NEAR, bytes.length); i < near; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) return i + 1
    if (byte === BACKSLASH) i++
  }
  const { length } = bytes
  const far = Math.min(i + FAR, length)
  const soon = scanEndOfString(bytes, i, far)
  if (soon >= 0) return soon
  // a quotation mark that follows no backslash ends the string
  const quote = bytes.indexOf(QUOTE, far)
  if (quote > far && bytes[quote - 1] !== BACKSLASH) return quote + 1
  const end = quote < 0 ? -1 : scanEndOfString(bytes, i, length)
  if (end < 0) throw syntaxError(bytes.length)
  return end
}

function skipUnscanned(bytes: Buffer, at: number): number {
  let i = at
  while (i < bytes.length) {
    const end = Math.min(i + WINDOW, bytes.length)
    for (; i < end; i++) {
      const byte = bytes[i]
      if (byte === QUOTE) return i + 1
      if (byte === BACKSLASH) i++
    }
    const quote = bytes.indexOf(QUOTE, i)
    if (quote < 0) break
    let before = quote - 1
    while (before >= i && bytes[before] === BACKSLASH) before--
    if (((quote - before) & 1) === 1) return quote + 1
    i = quote + 1
  }
  throw syntaxError(bytes.length)
}

/** Length up to which a string is searched byte by byte: three calls of `includes` cost as much. */
const SHORT = 64
const spaces = [10, 9, 13]

function skipSpacedString(bytes: Buffer, at: number): number {
  const end = skipString(bytes, at)
  if (end - at <= SHORT) {
    for (let i = at; i < end; i++) if (bytes[i]! < SPACE) throw syntaxError(i)
    return end
  }
  const part = bytes.subarray(at, end)
  if (spaces.some((space) => part.includes(space))) throw syntaxError(at)
  return end
}

const skipperOf = ({ checksStrings }: ByteLimits) => (checksStrings ? skipSpacedString : skipString)

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= ZERO && byte <= NINE

function skipDigits(bytes: Buffer, at: number): number {
  if (!isDigit(bytes[at])) throw syntaxError(at)
  let i = at + 1
  while (isDigit(bytes[i])) i++
  return i
}

function skipNumber(bytes: Buffer, at: number): number {
  let i = bytes[at] === MINUS ? at + 1 : at
  i = bytes[i] === ZERO ? i + 1 : skipDigits(bytes, i)
  if (bytes[i] === POINT) i = skipDigits(bytes, i + 1)
  if (bytes[i] !== UPPER_E && bytes[i] !== LOWER_E) return i
  return skipDigits(bytes, bytes[i + 1] === PLUS || bytes[i + 1] === MINUS ? i + 2 : i + 1)
}

/** Compares byte by byte: a slice for each word costs ten times as much, and a message may contain a million words. */
function skipWord(bytes: Buffer, at: number, word: Buffer): number {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) throw syntaxError(at)
  return at + word.length
}

function skipScalar(bytes: Buffer, at: number, skipText: typeof skipString): number {
  const byte = bytes[at]
  if (byte === QUOTE) return skipText(bytes, at)
  if (byte === MINUS || isDigit(byte)) return skipNumber(bytes, at)
  const word = words.find((each) => each[0] === byte)
  if (!word) throw syntaxError(at)
  return skipWord(bytes, at, word)
}

/** Returns the offset of a member's value. `at`: offset after the key. */
function skipColon(bytes: Buffer, at: number): number {
  const colon = skipSpaceBytes(bytes, at)
  if (bytes[colon] !== COLON) throw syntaxError(colon)
  return skipSpaceBytes(bytes, colon + 1)
}

/** Limits that this parser honours: it checks strings only for line breaks and tabs. */
export type ByteLimits = Pick<JsonLimits, 'depth' | 'elements' | 'members'> & {
  readonly checksStrings?: 'spaces'
  /**
   * Checks only the brackets and strings of values. Splits text whose parts are checked one by one, so that one
   * malformed part does not fail the others.
   */
  readonly isLoose?: boolean
}

/** Number of elements passed, over all values of one parse. */
interface Count {
  elements: number
}

/** Elements after which a parse yields: some tenths of a millisecond. A power of two. */
const STEP_ELEMENTS = 4_096

/** Counts an element. Returns true if the parse must yield. */
function isStepOver(count: Count, { elements }: ByteLimits): boolean {
  if (++count.elements > elements) throw tooManyElements(elements)
  return (count.elements & (STEP_ELEMENTS - 1)) === 0
}

/** Bytes after which a loose parse yields: brackets take some tenths of a millisecond. */
const STEP_BYTES = 65_536

/** Returns the offset of the end of a value that is no string, object or array; `end` if it is not before. */
function scanWord(bytes: Buffer, at: number, end: number): number {
  for (let i = at; i < end; i++) {
    const byte = bytes[i]
    if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) return i
  }
  return end
}

/**
 * Scans an object or array up to its end, or about to `end`. `open`: closing brackets of those that are open; empty
 * at the end of the value. A function, not a generator: V8 runs a long loop of a generator without optimization.
 */
function scanBrackets(bytes: Buffer, at: number, end: number, open: number[], limits: ByteLimits): number {
  for (let i = at; i < end;) {
    const byte = bytes[i]!
    if (byte === QUOTE) {
      i = skipString(bytes, i)
      if (i >= end) return i
      continue
    }
    i++
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (open.push(byte + 2) > limits.depth) throw tooDeep(limits)
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (byte !== open.pop()) throw syntaxError(i - 1)
      if (open.length === 0) return i
    }
  }
  return end
}

function* skipLoosely(bytes: Buffer, at: number, limits: ByteLimits): Generator<void, number> {
  const first = bytes[at]
  if (first === QUOTE) return skipString(bytes, at)
  const isWord = first !== OPEN_OBJECT && first !== OPEN_ARRAY
  const open = isWord ? [] : [first + 2]
  for (let i = isWord ? at : at + 1; i < bytes.length;) {
    const end = Math.min(i + STEP_BYTES, bytes.length)
    i = isWord ? scanWord(bytes, i, end) : scanBrackets(bytes, i, end, open, limits)
    if (isWord ? i < end : open.length === 0) return i
    yield
  }
  throw syntaxError(bytes.length)
}

/**
 * Does the same as `skipValue` of `json.ts` on bytes, for answers too large to convert to a string: for 1 MB the string
 * alone costs 0.7 ms, this function 0.1 ms (many escapes, in `scanBuffers`) to 1 ms (many escapes, elsewhere). Yields
 * after each few thousand elements, since a million of them take tens of milliseconds; loosely, after each 64 KiB.
 * Throws JsonError.
 */
export function* skipValueSteps(
  bytes: Buffer,
  at: number,
  limits: ByteLimits,
  count: Count = { elements: 0 }
): Generator<void, number> {
  if (limits.isLoose) return yield* skipLoosely(bytes, at, limits)
  const skipText = skipperOf(limits)
  const open: number[] = []
  let i = at
  for (;;) {
    const byte = bytes[i]
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (open.length === limits.depth) throw tooDeep(limits)
      const first = skipSpaceBytes(bytes, i + 1)
      if (bytes[first] !== byte + 2) {
        open.push(byte + 2)
        i = byte === OPEN_OBJECT ? skipColon(bytes, skipText(bytes, first)) : first
        continue
      }
      i = first + 1
    } else {
      i = skipScalar(bytes, i, skipText)
    }
    // after a value: closes the objects and arrays that end here, or moves to the next element
    for (;;) {
      if (open.length === 0) return i
      i = skipSpaceBytes(bytes, i)
      if (bytes[i] === open.at(-1)) {
        open.pop()
        i++
        continue
      }
      if (bytes[i] !== COMMA) throw syntaxError(i)
      if (isStepOver(count, limits)) yield
      i = skipSpaceBytes(bytes, i + 1)
      if (open.at(-1) === CLOSE_OBJECT) i = skipColon(bytes, skipText(bytes, i))
      break
    }
  }
}

/**
 * Does the same as `members` of `json.ts` on bytes, in steps; keys have one character per byte. Throws JsonError.
 */
export const memberSteps = (
  bytes: Buffer,
  at = 0,
  limits: ByteLimits = defaultLimits,
  path: KeyPath = []
): Generator<void, Member[]> => readMembers(bytes, skipSpaceBytes(bytes, at), limits, { elements: 0 }, path)

/** Does the same as `memberSteps` at once. */
export const membersOfBytes = (...given: Parameters<typeof memberSteps>): Member[] => complete(memberSteps(...given))

/** Returns the offset after the object at `start` that contains these members. */
export const endOfMembers = (bytes: Buffer, start: number, found: readonly Member[]): number =>
  skipSpaceBytes(bytes, found.at(-1)?.end ?? start + 1) + 1

/** Does the same as `wholeMembers` of `json.ts` on bytes, in steps. Throws JsonError. */
export function* wholeMemberSteps(bytes: Buffer, limits: ByteLimits, path: KeyPath): Generator<void, Member[]> {
  const found = yield* memberSteps(bytes, 0, limits, path)
  const end = skipSpaceBytes(bytes, endOfMembers(bytes, skipSpaceBytes(bytes, 0), found))
  if (end !== bytes.length) throw syntaxError(end)
  return found
}

/** Decodes a key. Returns its JSON text if it is malformed, which equals no key that is looked up. */
function looseKey(text: string): string {
  try {
    return readKey(text)
  } catch {
    return text
  }
}

/** Parses the members of one object. The object of the first key of `path` is parsed too. */
function* readMembers(
  bytes: Buffer,
  at: number,
  limits: ByteLimits,
  count: Count,
  path: KeyPath
): Generator<void, Member[]> {
  const [onPath, ...rest] = path
  if (bytes[at] !== OPEN_OBJECT) throw syntaxError(at)
  const skipText = skipperOf(limits)
  const found: Member[] = []
  let i = skipSpaceBytes(bytes, at + 1)
  if (bytes[i] === CLOSE_OBJECT) return found
  for (;;) {
    const keyStart = i
    const keyEnd = skipText(bytes, i)
    const start = skipColon(bytes, keyEnd)
    const keyText = bytes.toString('latin1', keyStart, keyEnd)
    const key = limits.isLoose ? looseKey(keyText) : readKey(keyText)
    const isOnPath = key === onPath && bytes[start] === OPEN_OBJECT
    if (isOnPath && limits.depth === 0) throw tooDeep(limits)
    const own = isOnPath
      ? yield* readMembers(bytes, start, { ...limits, depth: limits.depth - 1 }, count, rest)
      : undefined
    const end = own ? endOfMembers(bytes, start, own) : yield* skipValueSteps(bytes, start, limits, count)
    pushBounded(found, { key, keyStart, start, end, members: own }, limits.members)
    i = skipSpaceBytes(bytes, end)
    if (bytes[i] === CLOSE_OBJECT) return found
    if (bytes[i] !== COMMA) throw syntaxError(i)
    if (isStepOver(count, limits)) yield
    i = skipSpaceBytes(bytes, i + 1)
  }
}
