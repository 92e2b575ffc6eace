import { createHash, randomBytes } from 'node:crypto'
import type { Item } from '../../catalog/catalog.ts'
import { createSealer } from '../../lib/sealed-text.ts'
import type { Payload } from '../../json/payload.ts'
import { MAX_RESULT_BYTES, type ResultStore } from '../../registry/results.ts'
import type { RequestContext } from '../sessions/request-context.ts'
import { shorten, textRange } from './shorten.ts'

const PREFIX = 'towpath://results/'
const HANDLE_BYTES = 32
const ADDRESS = /^towpath:\/\/results\/([A-Za-z0-9_-]{43})(?:\?(.*))?$/
/** Bytes that one read returns at most */
const MAX_READ = 65_536
/** Bytes of a text that are stored together: a read opens one or two of these parts, however long the text is. */
const PART_BYTES = 262_144

export interface LargeResultsOptions {
  readonly store: ResultStore
  /** Encrypts what is stored. */
  readonly key: Buffer
  readonly log: { warn(details: object, text: string): void }
}

/** Part of a text that was cut. */
export interface ResultPart {
  readonly text: string
  /** Bytes of the whole text, and where the next part begins; equal at the end */
  readonly size: number
  readonly next: number
}

/** Part of a text as it is stored. */
interface StoredPart {
  /** Server and own name of the tool */
  readonly server: string
  readonly tool: string
  /** Bytes of the whole text, and of what comes before this part */
  readonly size: number
  readonly start: number
  readonly text: string
}

interface Range {
  readonly from: number
  readonly bytes: number
}

const hashOf = (handle: string, part: number) => createHash('sha256').update(`${handle}/${part}`).digest()

/** Reads `from` and `bytes` of an address; undefined if they are no whole numbers in range. */
function rangeOf(query: string): Range | undefined {
  const given = new URLSearchParams(query)
  const numberOf = (name: string, other: number) => {
    const text = given.get(name) ?? String(other)
    return /^\d{1,10}$/.test(text) ? Number(text) : NaN
  }
  const from = numberOf('from', 0)
  const bytes = numberOf('bytes', MAX_READ)
  return from >= 0 && bytes > 0 && bytes <= MAX_READ ? { from, bytes } : undefined
}

/** Returns true for the address of a text that was cut. */
export const isResultAddress = (uri: unknown): uri is string => typeof uri === 'string' && ADDRESS.test(uri)

/** Texts of tools that callers have got a part of (tool-groups.md#long-results). */
export class LargeResults {
  readonly #options: LargeResultsOptions

  constructor(options: LargeResultsOptions) {
    this.#options = options
  }

  /**
   * Returns a result with shorter texts, after the whole ones were stored; the result itself if none is too long, or if
   * they cannot be stored. Undefined if nothing is to be done.
   */
  shorten(context: RequestContext, item: Item, maxTokens: number, result: Payload): Promise<Payload> | undefined {
    const handles: string[] = []
    const short = shorten(result, maxTokens, () => {
      const handle = randomBytes(HANDLE_BYTES).toString('base64url')
      handles.push(handle)
      return `${PREFIX}${handle}`
    })
    if (!short) return undefined
    // what is too much for one caller would go at once; stored texts are no longer than the result, and 1 % for the rest
    if (result.length * 1.01 > MAX_RESULT_BYTES) return undefined
    const texts = short.cuts.map(({ text }, i) => ({ handle: handles[i]!, text }))
    return this.#store(context, item, texts).then(
      () => short.result,
      (err: unknown) => {
        this.#options.log.warn({ err }, 'a long result cannot be stored, and is sent whole')
        return result
      }
    )
  }

  /** Returns part of a text that this caller got a part of at this endpoint, if its tool is still in scope. */
  async read(context: RequestContext, uri: string): Promise<ResultPart | undefined> {
    const [, handle = '', query = ''] = ADDRESS.exec(uri) ?? []
    const range = rangeOf(query)
    if (!range) return undefined
    const first = Math.floor(range.from / PART_BYTES)
    // a position after the end has no part, but is read as the end
    const part =
      (await this.#find(context, handle, first)) ?? (first > 0 ? await this.#find(context, handle, 0) : undefined)
    const item = part && context.scope.servers.find(({ name }) => name === part.server)?.find('tool', part.tool)
    if (!item || !context.scope.includes(item)) return undefined
    const { size, start } = part
    if (range.from >= size) return { text: '', next: size, size }
    let bytes = Buffer.from(part.text)
    // the part of this position is gone
    if (range.from >= start + bytes.length) return undefined
    if (start + bytes.length < Math.min(range.from + range.bytes, size)) {
      const second = await this.#find(context, handle, first + 1)
      if (!second) return undefined
      bytes = Buffer.concat([bytes, Buffer.from(second.text)])
    }
    const { text, next } = textRange(bytes, Math.max(range.from - start, 0), range.bytes)
    return { text, next: start + next, size }
  }

  async #find(context: RequestContext, handle: string, part: number): Promise<StoredPart | undefined> {
    const sealed = await this.#options.store.find(hashOf(handle, part), context.caller.key)
    const text = sealed && this.#sealer(context).open(Buffer.from(sealed).toString('base64url'))
    return text === undefined ? undefined : (JSON.parse(text) as StoredPart)
  }

  /** Stores texts part by part: one that is long must not hold the others who wait. */
  async #store(context: RequestContext, item: Item, texts: readonly { handle: string; text: string }[]): Promise<void> {
    const sealer = this.#sealer(context)
    for (const { handle, text: whole } of texts) {
      const bytes = Buffer.from(whole)
      for (let start = 0, i = 0; start < bytes.length; i++) {
        const { text, next } = textRange(bytes, start, (i + 1) * PART_BYTES - start)
        const stored: StoredPart = { server: item.server.name, tool: item.name, size: bytes.length, start, text }
        const sealed = Buffer.from(sealer.seal(JSON.stringify(stored)), 'base64url')
        await this.#options.store.add([{ hash: hashOf(handle, i), caller: context.caller.key, sealed }])
        start = next
      }
    }
  }

  /** What is stored for one caller and endpoint cannot be opened for another. */
  #sealer({ caller, endpoint }: RequestContext) {
    return createSealer(this.#options.key, JSON.stringify(['result', caller.key, endpoint]))
  }
}
