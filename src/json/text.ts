import { BACKSLASH, LOWER_U, SPACE } from './characters.ts'
import { FOUND_CONTROL_SPACE, FOUND_LETTER_ESCAPE, FOUND_SUSPECT } from './scan-module.ts'
import { scanText } from './scan.ts'
import { syntaxError } from './json.ts'

/**
 * Result bits of `textSteps`: line breaks or tabs, which are valid between values only; lone surrogates; escapes of
 * characters from U+0040 to U+007F.
 */
export const HAS_CONTROL_SPACE = FOUND_CONTROL_SPACE
export const HAS_LONE_SURROGATES = 2
export const HAS_LETTER_ESCAPES = FOUND_LETTER_ESCAPE

const [FOUR, SEVEN] = [0x34, 0x37]
const CONTROL = 1
const WHITE = 2

/** Class of each byte; 0 for other bytes. */
const classes = new Uint8Array(256)
classes.fill(CONTROL, 0, SPACE)
for (const white of [9, 10, 13]) classes[white] = WHITE

/** 1 for each byte that may follow a backslash, except `u`. */
const escapes = new Uint8Array(256)
for (const byte of Buffer.from('"\\/bfnrt')) escapes[byte] = 1

const digits = new Int8Array(256).fill(-1)
for (const [value, byte] of Buffer.from('0123456789abcdef').entries()) digits[byte] = value
for (const [value, byte] of Buffer.from('ABCDEF').entries()) digits[byte] = value + 10

/** Returns the value of the four hexadecimal digits at `at`; negative if they are missing or invalid. */
function hexAt(text: string, at: number): number {
  if (at + 4 > text.length) return -1
  const a = digits[text.charCodeAt(at)]!
  const b = digits[text.charCodeAt(at + 1)]!
  const c = digits[text.charCodeAt(at + 2)]!
  const d = digits[text.charCodeAt(at + 3)]!
  return (a | b | c | d) < 0 ? -1 : (a << 12) | (b << 8) | (c << 4) | d
}

/** Returns the offset after the escape at `at`, negated if the escape is a lone surrogate. */
function skipEscape(text: string, at: number): number {
  const next = text.charCodeAt(at + 1)
  if (next !== LOWER_U) {
    if (escapes[next] !== 1) throw syntaxError(at + 1)
    return at + 2
  }
  const unit = hexAt(text, at + 2)
  if (unit < 0) throw syntaxError(at + 1)
  if (unit < 0xd800 || unit > 0xdfff) return at + 6
  const isPair = unit < 0xdc00 && text.charCodeAt(at + 6) === BACKSLASH && text.charCodeAt(at + 7) === LOWER_U
  const second = isPair ? hexAt(text, at + 8) : -1
  return second >= 0xdc00 && second <= 0xdfff ? at + 12 : -(at + 6)
}

/** Sets the high bit of bytes below 32; a byte above such a byte may be a false positive. */
const controls = (word: number): number => (word - 0x20202020) & ~word
const HIGH_BITS = 0x80808080 | 0

/** Words checked for control characters before a check yields: about half a millisecond. */
const STEP_WORDS = 131_072

/**
 * Returns the index of the first group of eight words with a control character, or of the incomplete last group; at most
 * `STEP_WORDS` after `from`.
 */
function skipWords(words: Int32Array, from: number): number {
  const length = Math.min(words.length, from + STEP_WORDS)
  let i = from
  for (; i + 7 < length; i += 8) {
    const first = controls(words[i]!) | controls(words[i + 1]!) | controls(words[i + 2]!) | controls(words[i + 3]!)
    const last = controls(words[i + 4]!) | controls(words[i + 5]!) | controls(words[i + 6]!) | controls(words[i + 7]!)
    if (((first | last) & HIGH_BITS) !== 0) break
  }
  return i
}

const NO_WORDS = new Int32Array(0)

/** Tests for line breaks and tabs, in steps; throws JsonError on other control characters. */
function* controlSteps(bytes: Buffer): Generator<void, boolean> {
  const { length } = bytes
  const lead = -bytes.byteOffset & 3
  // a view must not begin after the end of its memory, as it could for less than a word
  const words = length < 8 ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + lead, (length - lead) >> 2)
  let isSpaced = false
  let next = 4 * STEP_WORDS
  let i = 0
  while (i < length) {
    if (i >= next) {
      yield
      next = i + 4 * STEP_WORDS
    }
    const word = (i - lead) >> 2
    if (i >= lead && word < words.length) i = lead + 4 * skipWords(words, word)
    for (const end = i + 32; i < length && (i < end || ((i - lead) & 3) !== 0); i++) {
      const byte = bytes[i]!
      if (byte >= SPACE) continue
      if (classes[byte] === CONTROL) throw syntaxError(i)
      isSpaced = true
    }
  }
  return isSpaced
}

/** Characters scanned before a call of `indexOf`, which costs as much as scanning this many. */
const NEAR = 24

/** Escapes after which a check yields: some tenths of a millisecond. */
const STEP_ESCAPES = 8_192
const REPLACEMENT = Buffer.from('\\ufffd')

/**
 * Overwrites each lone surrogate by `\ufffd`, which is as long, and finds escapes of letters; returns their bits. Throws
 * JsonError on an invalid escape. `first`: offset of the first backslash.
 */
function* escapeSteps(bytes: Buffer, first: number): Generator<void, number> {
  const text = bytes.toString('latin1')
  const { length } = text
  let found = 0
  let left = STEP_ESCAPES
  for (let i = first; i >= 0;) {
    if (--left === 0) {
      yield
      left = STEP_ESCAPES
    }
    const third = text.charCodeAt(i + 4)
    if (third >= FOUR && third <= SEVEN && text.startsWith('u00', i + 1)) found |= HAS_LETTER_ESCAPES
    i = skipEscape(text, i)
    if (i < 0) {
      found |= HAS_LONE_SURROGATES
      i = -i
      for (let at = 0; at < REPLACEMENT.length; at++) bytes[i - REPLACEMENT.length + at] = REPLACEMENT[at]!
    }
    const near = Math.min(i + NEAR, length)
    while (i < near && text.charCodeAt(i) !== BACKSLASH) i++
    if (i === near) i = text.indexOf('\\', i)
  }
  return found
}

/** Does the same as `textSteps` character by character, so that errors have a position. */
export function* characterSteps(bytes: Buffer): Generator<void, number> {
  const spaced = (yield* controlSteps(bytes)) ? HAS_CONTROL_SPACE : 0
  const escape = bytes.indexOf(BACKSLASH)
  return escape < 0 ? spaced : spaced | (yield* escapeSteps(bytes, escape))
}

/**
 * Checks the characters of a JSON text without its structure: no control characters but line breaks and tabs, and only
 * valid escapes. Overwrites escapes of lone surrogates by `\ufffd`. Returns 0 for most messages, or the bits
 * `HAS_CONTROL_SPACE`, `HAS_LONE_SURROGATES` and `HAS_LETTER_ESCAPES`. Yields while it checks each character, which takes
 * tens of milliseconds for megabytes of escapes. Throws JsonError.
 */
export function* textSteps(bytes: Buffer): Generator<void, number> {
  const found = scanText(bytes)
  return (found & FOUND_SUSPECT) === 0 ? found : yield* characterSteps(bytes)
}
