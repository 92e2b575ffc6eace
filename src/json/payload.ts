import { membersOfBytes } from './bytes.ts'
import { members, type Member } from './json.ts'
import { concatBuffers, createSlicer, includesText, sliceBuffers, totalLength, type BufferList } from './buffer-list.ts'

/** Bytes above which a payload is never converted to one string: at 1 MB the conversion alone costs 0.7 ms. */
export const LARGE_BYTES = 65_536

/** Bytes up to which a part of an object is copied into its neighbour: each buffer costs a microsecond when it is sent. */
const SMALL_BYTES = 512

/** New values of members by key, as latin1 strings; null removes the member. */
export type MemberChanges = Readonly<Record<string, string | null>>

/** A part of a value and its replacement, as a latin1 string. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Returns the members of an object with the offsets that they have after these changes of their values. */
function moved(found: readonly Member[], edits: readonly Edit[]): Member[] {
  let next = 0
  let by = 0
  const move = (offset: number) => {
    for (; next < edits.length && edits[next]!.end <= offset; next++) {
      const { start, end, text } = edits[next]!
      by += text.length - (end - start)
    }
    return offset + by
  }
  return found.map(({ key, keyStart, start, end }) => ({
    key,
    keyStart: move(keyStart),
    start: move(start),
    end: move(end)
  }))
}

/** Offsets of an object's members, which are larger by `base` than those in the payload. */
export interface MemberOffsets {
  readonly members: readonly Member[]
  readonly base: number
}

/**
 * A JSON value passing through the gateway, byte for byte: held as buffers, or as a string with one character per byte
 * (`latin1`), so that UTF-8 is never decoded. The other form is created on first use. A class, because every call
 * creates one.
 */
export class Payload {
  /** Length in bytes. */
  readonly length: number
  #latin1: string | null
  #buffers: BufferList | null
  #offsets: MemberOffsets | null
  /**
   * False if the text escapes no character from U+0040 to U+007F, so that a search for the text of a key finds it; true
   * if it may.
   */
  readonly mayEscapeLetters: boolean

  private constructor(
    latin1: string | null,
    buffers: BufferList | null,
    found: MemberOffsets | null,
    mayEscapeLetters = true
  ) {
    this.mayEscapeLetters = mayEscapeLetters
    this.#latin1 = latin1
    this.#buffers = buffers
    this.#offsets = found
    this.length = latin1 === null ? totalLength(buffers!) : latin1.length
  }

  static ofBytes(bytes: Buffer, found: MemberOffsets | null = null): Payload {
    return new Payload(null, [bytes], found)
  }

  static ofBuffers(buffers: BufferList, found: MemberOffsets | null = null, mayEscapeLetters = true): Payload {
    return new Payload(null, buffers, found, mayEscapeLetters)
  }

  /** `text` holds one character per byte. */
  static ofLatin1(text: string, found: MemberOffsets | null = null, mayEscapeLetters = true): Payload {
    return new Payload(text, null, found, mayEscapeLetters)
  }

  /** Encodes any text as UTF-8. */
  static of(text: string): Payload {
    return Payload.ofBytes(Buffer.from(text))
  }

  get isLarge(): boolean {
    return this.length > LARGE_BYTES
  }

  /** True if the latin1 string exists already. */
  get hasLatin1(): boolean {
    return this.#latin1 !== null
  }

  get latin1(): string {
    return (this.#latin1 ??= this.bytes.toString('latin1'))
  }

  get buffers(): BufferList {
    return (this.#buffers ??= [Buffer.from(this.#latin1!, 'latin1')])
  }

  get bytes(): Buffer {
    const whole = concatBuffers(this.buffers)
    this.#buffers = [whole]
    return whole
  }

  toString(): string {
    return this.bytes.toString()
  }

  /** True if the value is an object. */
  get isObject(): boolean {
    return this.#latin1 === null ? this.#buffers![0]![0] === 123 : this.#latin1.startsWith('{')
  }

  /** `text` must be ASCII. */
  includes(text: string): boolean {
    return this.#latin1 === null ? includesText(this.buffers, text) : this.#latin1.includes(text)
  }

  /** Offsets of the members. Throws JsonError if the value is not an object. */
  get members(): readonly Member[] {
    return this.#readMembers().members
  }

  /** Members with offsets from the start of this value. Throws JsonError if the value is not an object. */
  get ownMembers(): readonly Member[] {
    const { members: all, base } = this.#readMembers()
    if (base === 0) return all
    return all.map(({ key, keyStart, start, end }) => ({
      key,
      keyStart: keyStart - base,
      start: start - base,
      end: end - base
    }))
  }

  /** True if the object has such a member. Throws JsonError if the value is not an object. */
  has(key: string): boolean {
    return this.members.some((member) => member.key === key)
  }

  /** Returns the last value of a member as a latin1 string; undefined if there is none. */
  valueOf(key: string): string | undefined {
    const { members: all, base } = this.#readMembers()
    const found = all.findLast((member) => member.key === key)
    if (!found) return undefined
    const [start, end] = [found.start - base, found.end - base]
    if (this.#latin1 !== null) return this.#latin1.slice(start, end)
    return concatBuffers(sliceBuffers(this.buffers, start, end)).toString('latin1')
  }

  /** Returns the last value of a member, without copying it; undefined if there is none. */
  partOf(key: string): Payload | undefined {
    const { members: all, base } = this.#readMembers()
    const found = all.findLast((member) => member.key === key)
    if (!found) return undefined
    const part = this.#slice(found.start - base, found.end - base)
    const own = found.members ? { members: found.members, base: found.start } : null
    return typeof part === 'string'
      ? Payload.ofLatin1(part, own, this.mayEscapeLetters)
      : Payload.ofBuffers(part, own, this.mayEscapeLetters)
  }

  /**
   * Returns a copy of the object with the existing members in `changes` replaced or removed, and with the members in
   * `more` (JSON text without braces, may be empty) appended; the rest is unchanged byte for byte. Throws JsonError.
   */
  withChanges(changes: MemberChanges, more: string): Payload {
    const { members: all } = this.#readMembers()
    const isTouched = Object.keys(changes).some((changed) => all.some(({ key }) => key === changed))
    // fast path of most results: members are only appended
    if (!isTouched && all.length > 0 && more !== '') {
      if (this.#latin1 !== null) return Payload.ofLatin1(`${this.#latin1.slice(0, -1)},${more}}`)
      return this.#join([this.#slice(0, this.length - 1), `,${more}}`])
    }
    const parts = this.#applyChanges(changes)
    if (more !== '') parts.push(parts.length > 0 ? `,${more}` : more)
    return this.#join(['{', ...parts, '}'])
  }

  /**
   * Returns a copy of the object with parts of its values replaced, in the order of their offsets; the rest of a large
   * object is not copied. Throws JsonError.
   */
  withEdits(edits: readonly Edit[]): Payload {
    // first, as reading them may create the string
    const found = { members: moved(this.ownMembers, edits), base: 0 }
    const slice = this.#latin1 === null ? createSlicer(this.buffers) : this.#latin1.slice.bind(this.#latin1)
    const parts: (string | BufferList)[] = []
    let from = 0
    for (const { start, end, text } of edits) {
      parts.push(slice(from, start), text)
      from = end
    }
    return this.#join([...parts, slice(from, this.length)], found)
  }

  #readMembers(): MemberOffsets {
    if (this.#offsets) return this.#offsets
    const all = this.#latin1 === null && this.isLarge ? membersOfBytes(this.bytes) : members(this.latin1)
    return (this.#offsets = { members: all, base: 0 })
  }

  /** Returns the members after `changes`, with adjacent unchanged members in one slice. */
  #applyChanges(changes: MemberChanges): (string | BufferList)[] {
    const { members: all, base } = this.#readMembers()
    const parts: (string | BufferList)[] = []
    let from = -1
    let to = -1
    const flush = () => {
      if (from >= 0) parts.push(this.#slice(from - base, to - base))
      from = -1
    }
    for (const { key, keyStart, start, end } of all) {
      const change = Object.hasOwn(changes, key) ? changes[key] : undefined
      if (change === undefined) {
        if (from < 0) {
          if (parts.length > 0) parts.push(',')
          from = keyStart
        }
        to = end
        continue
      }
      flush()
      if (change === null) continue
      if (parts.length > 0) parts.push(',')
      parts.push(this.#slice(keyStart - base, start - base), change)
    }
    flush()
    return parts
  }

  #slice(start: number, end: number): string | BufferList {
    return this.#latin1 === null ? sliceBuffers(this.buffers, start, end) : this.#latin1.slice(start, end)
  }

  #join(parts: readonly (string | BufferList)[], found: MemberOffsets | null = null): Payload {
    if (this.#latin1 !== null) return Payload.ofLatin1(parts.join(''), found)
    const buffers: Buffer[] = []
    let text = ''
    const flush = () => {
      if (text !== '') buffers.push(Buffer.from(text, 'latin1'))
      text = ''
    }
    for (const part of parts) {
      if (typeof part === 'string') text += part
      else if (totalLength(part) <= SMALL_BYTES) text += concatBuffers(part).toString('latin1')
      else {
        flush()
        buffers.push(...part)
      }
    }
    flush()
    return Payload.ofBuffers(buffers, found)
  }
}
