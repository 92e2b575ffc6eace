import { createHash, randomBytes } from 'node:crypto'
import type { Item } from '../../catalog/catalog.ts'
import { createSealer } from '../../lib/sealed-text.ts'
import type { Payload } from '../../json/payload.ts'
import { MAX_RESULT_BYTES, type KeptResult, type ResultStore } from '../../registry/results.ts'
import type { RequestContext } from '../sessions/request-context.ts'
import { shorten, textRange } from './shorten.ts'

const PREFIX = 'towpath://results/'
const HANDLE_BYTES = 32
const ADDRESS = /^towpath:\/\/results\/([A-Za-z0-9_-]{43})(?:\?(.*))?$/
/** Bytes that one read returns at most */
const MAX_READ = 65_536

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

interface StoredText {
  /** Server and own name of the tool */
  readonly server: string
  readonly tool: string
  readonly text: string
}

interface Range {
  readonly from: number
  readonly bytes: number
}

const hashOf = (handle: string) => createHash('sha256').update(handle).digest()

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
    const kept = short.cuts.map(({ text }, i): KeptResult => {
      const stored: StoredText = { server: item.server.name, tool: item.name, text }
      const sealed = this.#sealer(context).seal(JSON.stringify(stored))
      return { hash: hashOf(handles[i]!), caller: context.caller.key, sealed: Buffer.from(sealed, 'base64url') }
    })
    // what is too much for one caller would go at once
    if (kept.reduce((sum, { sealed }) => sum + sealed.length, 0) > MAX_RESULT_BYTES) return undefined
    return this.#store(kept, short.result, result)
  }

  /** Returns part of a text that this caller got a part of at this endpoint, if its tool is still in scope. */
  async read(context: RequestContext, uri: string): Promise<ResultPart | undefined> {
    const [, handle = '', query = ''] = ADDRESS.exec(uri) ?? []
    const range = rangeOf(query)
    const sealed = range && (await this.#options.store.find(hashOf(handle), context.caller.key))
    const text = sealed && this.#sealer(context).open(Buffer.from(sealed).toString('base64url'))
    if (!range || text === undefined) return undefined
    const { server, tool, text: whole } = JSON.parse(text) as StoredText
    const item = context.scope.servers.find(({ name }) => name === server)?.find('tool', tool)
    if (!item || !context.scope.includes(item)) return undefined
    const bytes = Buffer.from(whole)
    return { ...textRange(bytes, range.from, range.bytes), size: bytes.length }
  }

  async #store(kept: readonly KeptResult[], short: Payload, whole: Payload): Promise<Payload> {
    try {
      await this.#options.store.add(kept)
      return short
    } catch (err) {
      this.#options.log.warn({ err }, 'a long result cannot be stored, and is sent whole')
      return whole
    }
  }

  /** What is stored for one caller and endpoint cannot be opened for another. */
  #sealer({ caller, endpoint }: RequestContext) {
    return createSealer(this.#options.key, JSON.stringify(['result', caller.key, endpoint]))
  }
}
