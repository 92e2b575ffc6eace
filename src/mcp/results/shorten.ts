import { eachElement, members, stringOf, withMembers } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'

/** Bytes of a token, as everywhere */
const TOKEN_BYTES = 4
const HEAD = 0.6
const TAIL = 0.2
/** Texts of one result that are kept */
const MAX_CUTS = 16
/** Elements of a result that are looked at */
const MAX_BLOCKS = 10_000

/** A text of a result that is cut, and the address under which all of it can be read. */
export interface CutText {
  readonly uri: string
  readonly text: string
}

/** A result with shorter texts. */
export interface ShortResult {
  readonly result: Payload
  readonly cuts: readonly CutText[]
}

/** Returns whether a byte of UTF-8 continues a character. */
const continues = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

/** Returns a range of UTF-8 as text; a character that begins in it is in it as a whole, one that begins before is not. */
export function textRange(bytes: Buffer, from: number, count: number): { text: string; next: number } {
  let start = Math.min(from, bytes.length)
  while (continues(bytes[start])) start++
  let end = Math.min(start + count, bytes.length)
  while (continues(bytes[end])) end++
  return { text: bytes.subarray(start, end).toString(), next: end }
}

/** Returns the first and the last part of a text, with a line that says how much is left out between them. */
function cut(bytes: Buffer, max: number, uri: string): string {
  const head = textRange(bytes, 0, Math.floor(max * HEAD))
  const tail = textRange(bytes, bytes.length - Math.floor(max * TAIL), bytes.length)
  const left = bytes.length - head.next - Buffer.byteLength(tail.text)
  return `${head.text}\n[${left} bytes of ${bytes.length} are left out; read them at ${uri}?from=${head.next}]\n${tail.text}`
}

const linkTo = (uri: string, size: number): string =>
  JSON.stringify({ type: 'resource_link', uri, name: 'whole result', mimeType: 'text/plain', size })

/**
 * Cuts the text blocks of a result that are longer than a number of tokens; undefined if none is. `newUri`: returns the
 * address of a text that is cut. Other blocks and members stay byte for byte.
 */
export function shorten(result: Payload, maxTokens: number, newUri: () => string): ShortResult | undefined {
  const max = maxTokens * TOKEN_BYTES
  if (result.length <= max) return undefined
  const text = result.toString()
  const content = members(text).findLast(({ key }) => key === 'content')
  if (!content || text[content.start] !== '[') return undefined
  const cuts: CutText[] = []
  const blocks: string[] = []
  for (const { start, end } of eachElement(text, content.start)) {
    const block = text.slice(start, end)
    blocks.push(block)
    // an escape is longer than what it stands for
    if (cuts.length === MAX_CUTS || blocks.length > MAX_BLOCKS || Buffer.byteLength(block) <= max) continue
    if (!block.startsWith('{')) continue
    const found = members(block)
    const whole = stringOf(block, found, 'type') === 'text' ? stringOf(block, found, 'text') : undefined
    const bytes = Buffer.from(whole ?? '')
    if (whole === undefined || bytes.length <= max) continue
    const uri = newUri()
    cuts.push({ uri, text: whole })
    blocks[blocks.length - 1] = withMembers(block, { text: JSON.stringify(cut(bytes, max, uri)) })
    blocks.push(linkTo(uri, bytes.length))
  }
  if (cuts.length === 0) return undefined
  return { cuts, result: Payload.of(withMembers(text, { content: `[${blocks.join(',')}]` })) }
}
