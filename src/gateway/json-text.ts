import { BACKSLASH, LOWER_U, SPACE } from './json-characters.ts'
import { FOUND_DOUBT, FOUND_WHITE } from './json-scan-code.ts'
import { scanText } from './json-scan.ts'
import { syntaxError } from './json.ts'

/** Flags of `checkText`: line breaks or tabs, in which only white space between values is allowed; halves of surrogate pairs. */
export const HAS_CONTROL_SPACE = FOUND_WHITE
export const HAS_LONE_SURROGATES = 2

const CONTROL = 1
const WHITE = 2

/** 0: an ordinary byte. */
const classes = new Uint8Array(256)
classes.fill(CONTROL, 0, SPACE)
for (const white of [9, 10, 13]) classes[white] = WHITE

/** What may follow a backslash, by its code. */
const escapes = new Uint8Array(256)
for (const byte of Buffer.from('"\\/bfnrt')) escapes[byte] = 1

const digits = new Int8Array(256).fill(-1)
for (const [value, byte] of Buffer.from('0123456789abcdef').entries()) digits[byte] = value
for (const [value, byte] of Buffer.from('ABCDEF').entries()) digits[byte] = value + 10

/** The four hexadecimal digits from `at` on; negative where they are not there. */
function hexAt(text: string, at: number): number {
  if (at + 4 > text.length) return -1
  const a = digits[text.charCodeAt(at)]!
  const b = digits[text.charCodeAt(at + 1)]!
  const c = digits[text.charCodeAt(at + 2)]!
  const d = digits[text.charCodeAt(at + 3)]!
  return (a | b | c | d) < 0 ? -1 : (a << 12) | (b << 8) | (c << 4) | d
}

/** Offset behind the escape at `at`, negated where it is half of a surrogate pair. */
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

/** Sets the high bit of bytes below 32; a byte above one that is may be wrong. */
const controls = (word: number): number => (word - 0x20202020) & ~word
const HIGH_BITS = 0x80808080 | 0

/** Index of the first of eight words with a control character in one of them; less than eight at the end are not looked at. */
function skipWords(words: Int32Array, from: number): number {
  const { length } = words
  let i = from
  for (; i + 7 < length; i += 8) {
    const first = controls(words[i]!) | controls(words[i + 1]!) | controls(words[i + 2]!) | controls(words[i + 3]!)
    const last = controls(words[i + 4]!) | controls(words[i + 5]!) | controls(words[i + 6]!) | controls(words[i + 7]!)
    if (((first | last) & HIGH_BITS) !== 0) break
  }
  return i
}

const NO_WORDS = new Int32Array(0)

/** Whether there is white space that is a control character; throws JsonError where there is another control character. */
function checkControls(bytes: Buffer): boolean {
  const { length } = bytes
  const lead = -bytes.byteOffset & 3
  // a view must not begin behind the end of its memory, which is near where less than a word is left
  const words = length < 8 ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + lead, (length - lead) >> 2)
  let isSpaced = false
  let i = 0
  while (i < length) {
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

/** Calling `indexOf` costs as much as looking at so many characters. */
const NEAR = 24

/** Whether an escape is half of a surrogate pair; throws JsonError where one is not JSON's. `first`: of the first backslash. */
function checkEscapes(bytes: Buffer, first: number): boolean {
  const text = bytes.toString('latin1')
  const { length } = text
  let hasHalves = false
  for (let i = first; i >= 0;) {
    i = skipEscape(text, i)
    if (i < 0) {
      hasHalves = true
      i = -i
    }
    const near = Math.min(i + NEAR, length)
    while (i < near && text.charCodeAt(i) !== BACKSLASH) i++
    if (i === near) i = text.indexOf('\\', i)
  }
  return hasHalves
}

/** As `checkText`, character by character: names the place of what is wrong, and takes halves of surrogate pairs. */
export function checkEachCharacter(bytes: Buffer): number {
  const spaced = checkControls(bytes) ? HAS_CONTROL_SPACE : 0
  const escape = bytes.indexOf(BACKSLASH)
  return escape >= 0 && checkEscapes(bytes, escape) ? spaced | HAS_LONE_SURROGATES : spaced
}

/**
 * Checks what may stand in the strings of a JSON text without reading its structure: no control character but white space,
 * and only escapes that JSON has. Returns `SPACED` where there are control characters that are white space outside of
 * strings, `HALVES` where an escape is half of a surrogate pair; 0 for most messages. Throws JsonError.
 */
export function checkText(bytes: Buffer): number {
  const found = scanText(bytes)
  return (found & FOUND_DOUBT) === 0 ? found : checkEachCharacter(bytes)
}
