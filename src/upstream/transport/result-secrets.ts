import { createByteSearch, type ByteSearch, type ByteRange } from '../../lib/byte-search.ts'
import { formsInJson } from '../../domain/secrets/redaction.ts'
import { MASK } from '../../domain/secrets/secret-parts.ts'
import { responseText } from '../../protocol/jsonrpc-text.ts'
import { members } from '../../json/json.ts'

/** Treatment of results that contain a secret of the server that sent them. */
export type SecretsMode = 'redact' | 'block' | 'off'

/**
 * Searches one JSON-RPC message of an upstream before it is parsed. Returns the same buffer if it contains no secret; a
 * new one with `***` in place of secrets, or with an error in place of the result; null if the message must be dropped.
 */
export type MessageScreen = (message: Buffer) => Buffer | null

export interface ScreenOptions {
  readonly mode: Exclude<SecretsMode, 'off'>
  /** Current secrets. A different array means that they have changed. */
  readonly secrets: () => readonly string[]
  /** Called for each message that contained a secret. */
  readonly onFound: () => void
}

const QUOTE = 34
const BACKSLASH = 92
const LOWER_U = 117
const maskBytes = Buffer.from(MASK)

const WITHHELD = JSON.stringify({
  code: -32603,
  message: 'the response contains a secret of this server and is withheld (TOWPATH_RESULT_SECRETS)'
})

/** Results that the gateway itself needs: redacted, but never withheld. */
const neverWithheld = new Set([
  'tools',
  'prompts',
  'resources',
  'resourceTemplates',
  'protocolVersion',
  'supportedVersions'
])

/**
 * The strings of one JSON text. Remembers the last counted run of backslashes: a text may consist of backslashes only,
 * with a secret at each of them.
 */
class JsonStrings {
  readonly #bytes: Buffer
  /** The last run: its first backslash, and the offset after the last one counted. */
  #first = 0
  #end = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /**
   * Returns the offset of the quotation mark that closes the string opened at `start`; the text's length if there is
   * none.
   */
  endOf(start: number): number {
    const bytes = this.#bytes
    for (let at = bytes.indexOf(QUOTE, start + 1); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
      if (!this.#isEscaped(at)) return at
    }
    return bytes.length
  }

  /** True inside an escape sequence: after its backslash, or in the digits of `\uXXXX`. */
  isInEscape(at: number): boolean {
    if (this.#isEscaped(at)) return true
    for (let u = at - 1; u >= at - 4; u--) if (this.#bytes[u] === LOWER_U && this.#isEscaped(u)) return true
    return false
  }

  /**
   * Returns the end of a match, moved back to the last complete character: a match may be only the beginning of a
   * secret.
   */
  wholeEnd({ start, end }: ByteRange): number {
    let at = end
    while (at > start && ((this.#bytes[at]! & 0xc0) === 0x80 || this.isInEscape(at))) at--
    return at > start ? at : end
  }

  /** True if an odd number of backslashes precedes the offset. */
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

/**
 * Replaces secrets inside the strings of a JSON text, so that it stays valid JSON. Null if the strings contain none.
 */
function redactStrings(bytes: Buffer, search: ByteSearch): Buffer | null {
  // one copy, and no object per match: a message may consist of secrets only, and the mask is shorter than a secret
  const strings = new JsonStrings(bytes)
  let cleaned: Buffer | null = null
  let length = 0
  let copied = 0
  for (let open = bytes.indexOf(QUOTE); open >= 0;) {
    const close = strings.endOf(open)
    for (let match = search.find(bytes, open + 1, close); match;) {
      const isWhole = !strings.isInEscape(match.start)
      if (isWhole) {
        cleaned ??= Buffer.allocUnsafeSlow(bytes.length)
        length += bytes.copy(cleaned, length, copied, match.start)
        length += maskBytes.copy(cleaned, length)
        copied = strings.wholeEnd(match)
      }
      match = search.find(bytes, isWhole ? copied : match.start + 1, close)
    }
    open = bytes.indexOf(QUOTE, close + 1)
  }
  if (!cleaned) return null
  length += bytes.copy(cleaned, length, copied)
  return cleaned.subarray(0, length)
}

/**
 * Returns the message with an error in place of the result; null for a notification. Requests of the upstream are kept.
 */
function withholdResult(message: Buffer): Buffer | null {
  const text = message.toString('latin1')
  const found = members(text)
  const member = (key: string) => found.find((each) => each.key === key)
  const [id, method, result] = [member('id'), member('method'), member('result')]
  if (method) return id ? message : null
  if (
    !id ||
    (result && text[result.start] === '{' && members(text, result.start).some(({ key }) => neverWithheld.has(key)))
  ) {
    return message
  }
  return Buffer.from(responseText(text.slice(id.start, id.end), 'error', WITHHELD), 'latin1')
}

/** Creates the screen for one server. A message without secrets costs one search and no copy. */
export function createScreen({ mode, secrets, onFound }: ScreenOptions): MessageScreen {
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
      return withholdResult(cleaned)
    } catch {
      // not JSON: the parser rejects it later
      return cleaned
    }
  }
}
