import { BACKSLASH, LOWER_U, SPACE } from './json-characters.ts'
import { syntax } from './json.ts'

/** Flags of `checkText`: line breaks or tabs, in which only white space between values is allowed; halves of surrogate pairs. */
export const SPACED = 1
export const HALVES = 2

const CONTROL = 1
const WHITE = 2
const ESCAPE = 3

/** 0: an ordinary byte. */
const classes = new Uint8Array(256)
classes.fill(CONTROL, 0, SPACE)
for (const white of [9, 10, 13]) classes[white] = WHITE
classes[BACKSLASH] = ESCAPE

/** What may follow a backslash, by its code. */
const escapes = new Uint8Array(256)
for (const byte of Buffer.from('"\\/bfnrt')) escapes[byte] = 1

const digits = new Int8Array(256).fill(-1)
for (const [value, byte] of Buffer.from('0123456789abcdef').entries()) digits[byte] = value
for (const [value, byte] of Buffer.from('ABCDEF').entries()) digits[byte] = value + 10

/** The four hexadecimal digits from `at` on; negative where they are not there. */
function hexAt(bytes: Buffer, at: number): number {
  if (at + 4 > bytes.length) return -1
  const [a, b] = [digits[bytes[at]!]!, digits[bytes[at + 1]!]!]
  const [c, d] = [digits[bytes[at + 2]!]!, digits[bytes[at + 3]!]!]
  return (a | b | c | d) < 0 ? -1 : (a << 12) | (b << 8) | (c << 4) | d
}

/** Offset behind the escape at `at`, negated where it is half of a surrogate pair. */
function skipEscape(bytes: Buffer, at: number): number {
  const next = bytes[at + 1]
  if (next !== LOWER_U) {
    if (next === undefined || escapes[next] === 0) throw syntax(at + 1)
    return at + 2
  }
  const unit = hexAt(bytes, at + 2)
  if (unit < 0) throw syntax(at + 1)
  if (unit < 0xd800 || unit > 0xdfff) return at + 6
  const isPair = unit < 0xdc00 && bytes[at + 6] === BACKSLASH && bytes[at + 7] === LOWER_U
  const second = isPair ? hexAt(bytes, at + 8) : -1
  return second >= 0xdc00 && second <= 0xdfff ? at + 12 : -(at + 6)
}

/** Sets the high bit of bytes below 32; a byte above one that is may be wrong. */
const controls = (word: number): number => (word - 0x20202020) & ~word
/** The same for backslashes. */
const backslashes = (word: number): number => {
  const zero = word ^ 0x5c5c5c5c
  return (zero - 0x01010101) & ~zero
}
const HIGH_BITS = 0x80808080 | 0

/** Index of the first of eight words with a control character in one of them; less than eight at the end are not looked at. */
function skipWords(words: Int32Array, from: number, end: number): number {
  let i = from
  for (; i + 7 < end; i += 8) {
    const first = controls(words[i]!) | controls(words[i + 1]!) | controls(words[i + 2]!) | controls(words[i + 3]!)
    const last = controls(words[i + 4]!) | controls(words[i + 5]!) | controls(words[i + 6]!) | controls(words[i + 7]!)
    if (((first | last) & HIGH_BITS) !== 0) break
  }
  return i
}

/** As `skipWords`, of four, with a control character or a backslash. */
function skipMarkedWords(words: Int32Array, from: number): number {
  let i = from
  for (; i + 3 < words.length; i += 4) {
    const [a, b, c, d] = [words[i]!, words[i + 1]!, words[i + 2]!, words[i + 3]!]
    const found = controls(a) | backslashes(a) | controls(b) | backslashes(b)
    if (((found | controls(c) | backslashes(c) | controls(d) | backslashes(d)) & HIGH_BITS) !== 0) break
  }
  return i
}

/**
 * Checks what may stand in the strings of a JSON text without reading its structure, four bytes at a time: no control
 * character but white space, and only escapes that JSON has. Returns `SPACED` where there are control characters that are
 * white space outside of strings, `HALVES` where an escape is half of a surrogate pair; 0 for most messages. Throws JsonError.
 */
export function checkText(bytes: Buffer): number {
  const { length } = bytes
  const lead = -bytes.byteOffset & 3
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + lead, Math.max(0, (length - lead) >> 2))
  const escape = bytes.indexOf(BACKSLASH)
  const plainWords = escape < 0 ? words.length : (escape - lead) >> 2
  let found = 0
  let i = 0
  while (i < length) {
    const word = (i - lead) >> 2
    if (i >= lead && word < words.length) {
      const next = word < plainWords ? skipWords(words, word, plainWords) : skipMarkedWords(words, word)
      i = lead + 4 * next
    }
    for (const end = i + 16; i < length && (i < end || ((i - lead) & 3) !== 0);) {
      const kind = classes[bytes[i]!]
      if (kind === ESCAPE) {
        i = skipEscape(bytes, i)
        if (i > 0) continue
        found |= HALVES
        i = -i
        continue
      }
      if (kind === CONTROL) throw syntax(i)
      if (kind === WHITE) found |= SPACED
      i++
    }
  }
  return found
}
