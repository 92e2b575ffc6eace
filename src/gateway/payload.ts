import { membersOfBytes } from './json-bytes.ts'
import { members, type Member } from './json.ts'
import { cutPieces, includesText, joined, lengthOf, type Pieces } from './pieces.ts'

/** From this size on no string is made of the whole: at 1 MB that alone costs 0.7 ms. */
export const LARGE = 65_536

/** What becomes of members: another value (a string of one character a byte), or null: taken out. */
export type Changes = Readonly<Record<string, string | null>>

/** Where the members of an object stand: offsets are from `base` on. */
export interface Found {
  readonly members: readonly Member[]
  readonly base: number
}

/**
 * A JSON value on its way through the gateway, its bytes as they came: as bytes, or as a string of one character a byte
 * (`latin1`), so that no character set is decoded on the way. What is not at hand is made when it is asked for. A class,
 * since there is one for each call.
 */
export class Payload {
  /** In bytes. */
  readonly length: number
  #latin1: string | null
  #pieces: Pieces | null
  #found: Found | null

  private constructor(latin1: string | null, pieces: Pieces | null, found: Found | null) {
    this.#latin1 = latin1
    this.#pieces = pieces
    this.#found = found
    this.length = latin1 === null ? lengthOf(pieces!) : latin1.length
  }

  static ofBytes(bytes: Buffer, found: Found | null = null): Payload {
    return new Payload(null, [bytes], found)
  }

  static ofPieces(pieces: Pieces, found: Found | null = null): Payload {
    return new Payload(null, pieces, found)
  }

  /** One character a byte. */
  static ofLatin1(text: string, found: Found | null = null): Payload {
    return new Payload(text, null, found)
  }

  /** Any text. */
  static of(text: string): Payload {
    return Payload.ofBytes(Buffer.from(text))
  }

  get isLarge(): boolean {
    return this.length > LARGE
  }

  /** Whether it is at hand as a string. */
  get isText(): boolean {
    return this.#latin1 !== null
  }

  get latin1(): string {
    return (this.#latin1 ??= this.bytes.toString('latin1'))
  }

  get pieces(): Pieces {
    return (this.#pieces ??= [Buffer.from(this.#latin1!, 'latin1')])
  }

  get bytes(): Buffer {
    const whole = joined(this.pieces)
    this.#pieces = [whole]
    return whole
  }

  toString(): string {
    return this.bytes.toString()
  }

  /** `text` is ASCII. */
  includes(text: string): boolean {
    return this.#latin1 === null ? includesText(this.pieces, text) : this.#latin1.includes(text)
  }

  /** Where the members stand, if it is an object. Throws JsonError. */
  get members(): readonly Member[] {
    return this.#read().members
  }

  /** The value of a member, one character a byte; undefined where there is none. */
  valueOf(key: string): string | undefined {
    const { members: all, base } = this.#read()
    const found = all.findLast((member) => member.key === key)
    if (!found) return undefined
    const [start, end] = [found.start - base, found.end - base]
    if (this.#latin1 !== null) return this.#latin1.slice(start, end)
    return joined(cutPieces(this.pieces, start, end)).toString('latin1')
  }

  /**
   * An object with members changed where it has them, and more of them behind (`more` without braces, may be empty); all
   * else stays byte for byte. Throws JsonError.
   */
  changed(changes: Changes, more: string): Payload {
    const { members: all } = this.#read()
    const isTouched = Object.keys(changes).some((changed) => all.some(({ key }) => key === changed))
    // most results: only something behind them is said
    if (!isTouched && all.length > 0 && more !== '') {
      if (this.#latin1 !== null) return Payload.ofLatin1(`${this.#latin1.slice(0, -1)},${more}}`)
      return this.#joined([this.#cut(0, this.length - 1), `,${more}}`])
    }
    const parts = this.#kept(changes)
    if (more !== '') parts.push(parts.length > 0 ? `,${more}` : more)
    return this.#joined(['{', ...parts, '}'])
  }

  #read(): Found {
    if (this.#found) return this.#found
    const all = this.#latin1 === null && this.isLarge ? membersOfBytes(this.bytes) : members(this.latin1)
    return (this.#found = { members: all, base: 0 })
  }

  /** What is left of the members, those that stand side by side in one piece. */
  #kept(changes: Changes): (string | Pieces)[] {
    const { members: all, base } = this.#read()
    const parts: (string | Pieces)[] = []
    let from = -1
    let to = -1
    const flush = () => {
      if (from >= 0) parts.push(this.#cut(from - base, to - base))
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
      parts.push(this.#cut(keyStart - base, start - base), change)
    }
    flush()
    return parts
  }

  #cut(start: number, end: number): string | Pieces {
    return this.#latin1 === null ? cutPieces(this.pieces, start, end) : this.#latin1.slice(start, end)
  }

  #joined(parts: readonly (string | Pieces)[]): Payload {
    if (this.#latin1 !== null) return Payload.ofLatin1(parts.join(''))
    return Payload.ofPieces(parts.flatMap((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))
  }
}
