import { createByteSearch, type ByteSearch, type ByteRange } from '../../domain/byte-search.ts'
import { formsInJson } from '../../domain/redaction.ts'
import { members } from '../json.ts'

/** What becomes of a result that holds a secret of the server that it comes from. */
export type SecretsMode = 'redact' | 'block' | 'off'

/**
 * Looks through one JSON-RPC message of an upstream, before it is read. Returns the same buffer where nothing was found;
 * a new one with `***` in place of the secrets, or with an error in place of the result; null where the message is to be
 * dropped.
 */
export type Screen = (message: Buffer) => Buffer | null

export interface ScreenOptions {
  readonly mode: Exclude<SecretsMode, 'off'>
  /** The secrets in force. Another array means other secrets. */
  readonly secrets: () => readonly string[]
  /** Told of each message in which something was found. */
  readonly onFound: () => void
}

const QUOTE = 34
const BACKSLASH = 92
const LOWER_U = 117
const MASK = Buffer.from('***')

const WITHHELD = JSON.stringify({
  code: -32603,
  message: 'the answer holds a secret of this server and is withheld (TOWPATH_RESULT_SECRETS)'
})

/** Results that the gateway itself needs: they are redacted, never withheld. */
const own = new Set(['tools', 'prompts', 'resources', 'resourceTemplates', 'protocolVersion', 'supportedVersions'])

/**
 * The strings of one JSON text. Remembers the row of backslashes that was counted last: a text may be nothing but
 * backslashes, with a secret at each of them.
 */
class Strings {
  readonly #bytes: Buffer
  /** The row: its first backslash, and the offset behind the last one that was counted. */
  #first = 0
  #end = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Offset of the quotation mark that ends the string whose first one is at `start`; the length where there is none. */
  endOf(start: number): number {
    const bytes = this.#bytes
    for (let at = bytes.indexOf(QUOTE, start + 1); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
      if (!this.#isEscaped(at)) return at
    }
    return bytes.length
  }

  /** True in the middle of an escape sequence: behind its backslash, or in the digits of `\uXXXX`. */
  isInEscape(at: number): boolean {
    if (this.#isEscaped(at)) return true
    for (let u = at - 1; u >= at - 4; u--) if (this.#bytes[u] === LOWER_U && this.#isEscaped(u)) return true
    return false
  }

  /** The end of a place, or of the last character that is whole in it: only the beginning of a secret may have been found. */
  wholeEnd({ start, end }: ByteRange): number {
    let at = end
    while (at > start && ((this.#bytes[at]! & 0xc0) === 0x80 || this.isInEscape(at))) at--
    return at > start ? at : end
  }

  /** Whether an odd number of backslashes stands before it. */
  #isEscaped(at: number): boolean {
    let first = at
    while (this.#bytes[first - 1] === BACKSLASH) {
      if (first > this.#first && first <= this.#end) {
        this.#end = Math.max(this.#end, at)
        return (at - this.#first) % 2 === 1
      }
      first--
    }
    if (first < at) [this.#first, this.#end] = [first, at]
    return (at - first) % 2 === 1
  }
}

/** Takes secrets out of the strings of a JSON text, so that it stays JSON. Null where they hold none. */
function redactStrings(bytes: Buffer, search: ByteSearch): Buffer | null {
  // one copy, and no object for each place: a message may be nothing but secrets, which are longer than the mask
  const strings = new Strings(bytes)
  let cleaned: Buffer | null = null
  let length = 0
  let kept = 0
  for (let open = bytes.indexOf(QUOTE); open >= 0;) {
    const close = strings.endOf(open)
    for (let place = search.find(bytes, open + 1, close); place;) {
      const isWhole = !strings.isInEscape(place.start)
      if (isWhole) {
        cleaned ??= Buffer.allocUnsafeSlow(bytes.length)
        length += bytes.copy(cleaned, length, kept, place.start)
        length += MASK.copy(cleaned, length)
        kept = strings.wholeEnd(place)
      }
      place = search.find(bytes, isWhole ? kept : place.start + 1, close)
    }
    open = bytes.indexOf(QUOTE, close + 1)
  }
  if (!cleaned) return null
  length += bytes.copy(cleaned, length, kept)
  return cleaned.subarray(0, length)
}

/** The same message with an error in place of the result; null for a notification. Requests of the upstream stay. */
function withheld(message: Buffer): Buffer | null {
  const text = message.toString('latin1')
  const found = members(text)
  const member = (key: string) => found.find((each) => each.key === key)
  const [id, method, result] = [member('id'), member('method'), member('result')]
  if (method) return id ? message : null
  if (!id || (result && text[result.start] === '{' && members(text, result.start).some(({ key }) => own.has(key)))) {
    return message
  }
  return Buffer.from(`{"jsonrpc":"2.0","id":${text.slice(id.start, id.end)},"error":${WITHHELD}}`, 'latin1')
}

/** Screens the messages of one server. A message without a secret costs one search and no copy. */
export function createScreen({ mode, secrets, onFound }: ScreenOptions): Screen {
  let known: readonly string[] | null = null
  let search = createByteSearch([])
  return (message) => {
    const current = secrets()
    if (current !== known) {
      known = current
      search = createByteSearch(formsInJson(current).map((form) => Buffer.from(form)))
    }
    if (!search.find(message)) return message
    const cleaned = redactStrings(message, search)
    if (!cleaned) return message
    onFound()
    if (mode === 'redact') return cleaned
    try {
      return withheld(cleaned)
    } catch {
      // no JSON: the reader refuses it
      return cleaned
    }
  }
}
