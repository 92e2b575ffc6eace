import { createHash } from 'node:crypto'
import { Backoff } from '../../lib/backoff.ts'
import { createTimeSlice, type TimeSlice } from '../../lib/time-slice.ts'
import { decodeVector, similarity, type Vector } from '../../domain/search/vectors.ts'
import type { EmbeddingStore } from '../../registry/embeddings.ts'
import type { Catalog, Item } from '../catalog.ts'
import { scopeFor, type Scope } from '../scope.ts'
import { listedTool } from '../search-listing.ts'
import { readTool } from '../search/tool-text.ts'
import { EmbeddingsFailure, MAX_BATCH, type EmbeddingsEndpoint } from './embeddings-endpoint.ts'

/** Search by vectors of a model (tool-groups.md#vectors). */
export interface ToolVectors {
  /**
   * Returns the tools of a scope whose texts are nearest to a query; undefined if there are no vectors, or if the
   * endpoint is slow or away. `server`: only tools of this server. Never rejects.
   */
  nearest(scope: Scope, query: string, limit: number, server?: string): Promise<NearestTools | undefined>
  /** Gets vectors for the tools of groups in search mode, in the background. */
  follow(catalog: Catalog): void
  /** Returns what is known now. */
  state(): VectorState
  /** Resolves once nothing uses the store any more. */
  close(): Promise<void>
}

/** Tools by their distance to a query. */
export interface NearestTools {
  /** Nearest first */
  readonly items: readonly Item[]
  /** Returns true for a tool without a vector yet. */
  isUnranked(item: Item): boolean
}

/** State of the vectors of this process. */
export interface VectorState {
  readonly model: string
  /** Numbers of texts with a vector, and without one yet */
  readonly kept: number
  readonly missing: number
  /** Number of texts that the endpoint refuses */
  readonly refused: number
  /** Reason why vectors cannot be had at present */
  readonly problem: string | undefined
}

export interface ToolVectorsOptions {
  readonly endpoint: EmbeddingsEndpoint
  readonly store: EmbeddingStore
  readonly log: { warn(details: object, text: string): void }
  readonly maxBytes?: number
}

const MAX_BYTES = 67_108_864
/** Estimated size of a vector beside its bytes */
const VECTOR_BYTES = 200
/** Fingerprints of one query to the database */
const LOAD_BATCH = 400
const MAX_TEXT = 2_000
const MAX_DESCRIPTION = 1_200
/** Time until the texts are looked for that another replica has asked for */
const OTHERS_MS = 3_000
const RETRY = { firstMs: 2_000, longestMs: 300_000 }
/** Time until a database that was away is asked again */
const STORE_MS = 10_000

/** Returns the text of a tool that a model sees: as its endpoint lists it, with its server. */
export function embeddedText(scope: Scope, item: Item): string {
  const { name, text, parameters } = readTool(listedTool(scope, item).text)
  const ownName = name === item.publicName ? item.alias : name
  return `${item.server.name} ${ownName}\n${text.trim().slice(0, MAX_DESCRIPTION)}\n${parameters}`
    .slice(0, MAX_TEXT)
    .replace(/\p{Surrogate}$/u, '')
}

const fingerprints = new WeakMap<object, string>()

/** Returns the fingerprint of a tool's text, made at the first use. */
function fingerprintOf(scope: Scope, item: Item): string {
  const key = scope.overrideOf(item) ?? item
  const known = fingerprints.get(key)
  if (known !== undefined) return known
  const made = createHash('sha256').update(embeddedText(scope, item)).digest('base64url')
  fingerprints.set(key, made)
  return made
}

/** A tool with a text that has a vector, or is to get one. */
interface WantedText {
  readonly scope: Scope
  readonly item: Item
}

/** Returns the tools that can be found by somebody, by the fingerprints of their texts. */
async function wantedTexts(catalog: Catalog, slice: TimeSlice): Promise<Map<string, WantedText>> {
  const wanted = new Map<string, WantedText>()
  for (const group of catalog.groups) {
    if (!group.search) continue
    const scope = scopeFor(catalog, group)
    for (const server of scope.servers) {
      for (const item of server.items('tool')) {
        if (slice.isOver) await slice.next()
        if (scope.includes(item)) wanted.set(fingerprintOf(scope, item), { scope, item })
      }
    }
  }
  return wanted
}

/** The tools nearest to a query so far, best first. */
class Nearest {
  readonly #found: { readonly item: Item; readonly score: number }[] = []
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  add(item: Item, score: number): void {
    const found = this.#found
    if (found.length === this.#limit && score <= found.at(-1)!.score) return
    const at = found.findIndex((each) => each.score < score)
    found.splice(at < 0 ? found.length : at, 0, { item, score })
    if (found.length > this.#limit) found.pop()
  }

  get items(): Item[] {
    return this.#found.map(({ item }) => item)
  }
}

/** Keeps the vectors of a catalog's tools in memory, and gets those that are missing from the store or the endpoint. */
class VectorWork implements ToolVectors {
  readonly #options: ToolVectorsOptions
  readonly #vectors = new Map<string, Vector>()
  /** Texts that the endpoint refuses */
  readonly #refused = new Set<string>()
  readonly #backoff = new Backoff(RETRY)
  readonly #stopping = new AbortController()
  #bytes = 0
  #missing = 0
  #catalog: Catalog | undefined
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  /** Time before which the endpoint is left alone */
  #notBefore = -Infinity
  /** Failure of the last request for texts of tools */
  #problem: string | undefined

  constructor(options: ToolVectorsOptions) {
    this.#options = options
  }

  follow(catalog: Catalog): void {
    this.#catalog = catalog
    this.#start()
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    await this.#running
  }

  state(): VectorState {
    const { model, problem } = this.#options.endpoint
    const counts = { kept: this.#vectors.size, missing: this.#missing, refused: this.#refused.size }
    return { model, ...counts, problem: this.#problem ?? problem }
  }

  async nearest(scope: Scope, query: string, limit: number, server?: string): Promise<NearestTools | undefined> {
    if (this.#vectors.size === 0) return undefined
    const slice = createTimeSlice()
    const asked = await this.#options.endpoint.queryVector(query)
    const found = new Nearest(limit)
    if (!asked) return undefined
    let hasOthers = false
    const vectorFor = (item: Item) => this.#vectors.get(fingerprintOf(scope, item))
    for (const each of scope.servers) {
      if (server !== undefined && each.name !== server) continue
      for (const item of each.items('tool')) {
        if (slice.isOver) await slice.next()
        const vector = scope.includes(item) ? vectorFor(item) : undefined
        if (vector?.values.length === asked.values.length) found.add(item, similarity(asked, vector))
        else if (vector) hasOthers = true
      }
    }
    // the model behind this name is another one than before the start
    if (hasOthers) this.#start()
    const isUnranked = (item: Item) => vectorFor(item)?.values.length !== asked.values.length
    return { items: found.items, isUnranked }
  }

  #start(): void {
    if (this.#running || this.#stopping.signal.aborted) return
    clearTimeout(this.#timer)
    this.#running = this.#pass()
      .catch((err: unknown) => {
        this.#log('vectors for search cannot be read or stored', err)
        return STORE_MS
      })
      .then((delayMs) => this.#end(delayMs))
  }

  #end(delayMs: number | undefined): void {
    this.#running = undefined
    if (delayMs === undefined || this.#stopping.signal.aborted) return
    this.#timer = setTimeout(() => this.#start(), delayMs).unref()
  }

  /** Gets what is missing. Returns the time until the next pass; undefined if there is nothing left to do. */
  async #pass(): Promise<number | undefined> {
    const catalog = this.#catalog!
    const wanted = await wantedTexts(catalog, createTimeSlice())
    this.#dropOthers(wanted)
    const isCurrent = () => this.#catalog === catalog && !this.#stopping.signal.aborted
    const missing = [...wanted.keys()].filter((each) => !this.#vectors.has(each) && !this.#refused.has(each))
    const rest = await this.#load(missing, isCurrent)
    this.#missing = rest.length
    const waitMs = this.#notBefore - performance.now()
    if (rest.length > 0 && waitMs > 0 && isCurrent()) return waitMs
    for (let i = 0; i < rest.length && isCurrent(); i += MAX_BATCH) {
      const ms = await this.#fill(rest.slice(i, i + MAX_BATCH), wanted)
      if (ms !== undefined) return ms
    }
    if (!isCurrent()) return 0
    return this.#missing > 0 && this.#hasSpace ? OTHERS_MS : undefined
  }

  /** Forgets vectors that no tool needs, and those of another number of dimensions. */
  #dropOthers(wanted: ReadonlyMap<string, WantedText>): void {
    const { dimensions } = this.#options.endpoint
    for (const [fingerprint, { values }] of this.#vectors) {
      const isUsable = dimensions === undefined || values.length === dimensions
      if (isUsable && wanted.has(fingerprint)) continue
      this.#vectors.delete(fingerprint)
      this.#bytes -= values.length + VECTOR_BYTES
    }
    for (const fingerprint of this.#refused) if (!wanted.has(fingerprint)) this.#refused.delete(fingerprint)
  }

  /** Reads vectors from the store. Returns the fingerprints that it does not have. */
  async #load(missing: readonly string[], isCurrent: () => boolean): Promise<string[]> {
    const { store, endpoint } = this.#options
    const slice = createTimeSlice()
    for (let i = 0; i < missing.length && isCurrent(); i += LOAD_BATCH) {
      const batch = missing.slice(i, i + LOAD_BATCH)
      const { dimensions } = endpoint
      const wrong: string[] = []
      for (const [fingerprint, bytes] of await store.load(endpoint.model, batch)) {
        const vector = decodeVector(bytes)
        if (vector && (dimensions === undefined || dimensions === bytes.length)) this.#keep(fingerprint, vector)
        else wrong.push(fingerprint)
      }
      await store.remove(endpoint.model, wrong)
      if (slice.isOver) await slice.next()
    }
    return missing.filter((each) => !this.#vectors.has(each))
  }

  #keep(fingerprint: string, vector: Vector): void {
    if (!this.#hasSpace || this.#vectors.has(fingerprint)) return
    this.#vectors.set(fingerprint, vector)
    this.#bytes += vector.values.length + VECTOR_BYTES
  }

  get #hasSpace(): boolean {
    return this.#bytes < (this.#options.maxBytes ?? MAX_BYTES)
  }

  /** Asks the endpoint for vectors that no other replica asks for. Returns the time until the next try after a failure. */
  async #fill(batch: readonly string[], wanted: ReadonlyMap<string, WantedText>): Promise<number | undefined> {
    if (!this.#hasSpace) return undefined
    const { store, endpoint } = this.#options
    const claimed = await store.claim(endpoint.model, batch)
    const before = endpoint.dimensions
    try {
      const vectors = await this.#ask(claimed, wanted)
      await store.save(endpoint.model, new Map([...vectors].map(([key, { values }]) => [key, new Uint8Array(values)])))
      for (const [fingerprint, vector] of vectors) this.#keep(fingerprint, vector)
      this.#missing -= claimed.length
      this.#backoff.recordOpen(0)
      this.#problem = undefined
      // stored vectors may be of another model of this name
      return before === undefined && endpoint.dimensions !== undefined ? 0 : undefined
    } catch (error) {
      await store.remove(endpoint.model, claimed)
      if (!(error instanceof EmbeddingsFailure) || this.#stopping.signal.aborted) throw error
      const ms = this.#backoff.nextDelayMs()
      this.#notBefore = performance.now() + ms
      if (this.#problem !== error.message) this.#log('the embeddings endpoint fails: search goes by words', error)
      this.#problem = error.message
      return ms
    }
  }

  /** Returns the vectors of texts; those that the endpoint refuses are left out from now on. */
  async #ask(asked: readonly string[], wanted: ReadonlyMap<string, WantedText>): Promise<Map<string, Vector>> {
    if (asked.length === 0) return new Map()
    const texts = asked.map((each) => {
      const { scope, item } = wanted.get(each)!
      return embeddedText(scope, item)
    })
    try {
      const vectors = await this.#options.endpoint.vectorsOf(texts, this.#stopping.signal)
      return new Map(asked.map((each, i) => [each, vectors[i]!]))
    } catch (error) {
      if (!(error instanceof EmbeddingsFailure && error.isRefusal) || asked.length === 1) throw error
      return this.#askInHalves(asked, wanted, error)
    }
  }

  /** Finds the texts that an endpoint refuses. Rejects with `refusal` if it refuses all: then it is not about a text. */
  async #askInHalves(asked: readonly string[], wanted: ReadonlyMap<string, WantedText>, refusal: EmbeddingsFailure) {
    const half = Math.ceil(asked.length / 2)
    const found = new Map<string, Vector>()
    const refused: string[] = []
    for (const part of [asked.slice(0, half), asked.slice(half)]) {
      try {
        for (const [key, vector] of await this.#ask(part, wanted)) found.set(key, vector)
      } catch (error) {
        if (!(error instanceof EmbeddingsFailure && error.isRefusal)) throw error
        refused.push(...part)
      }
    }
    if (found.size === 0) throw refusal
    for (const each of refused) this.#refused.add(each)
    if (refused.length > 0) this.#log('the embeddings endpoint refuses the texts of some tools', refusal)
    await this.#options.store.remove(this.#options.endpoint.model, refused)
    return found
  }

  #log(text: string, err: unknown): void {
    if (!this.#stopping.signal.aborted) this.#options.log.warn({ err }, text)
  }
}

/** Creates the vectors of a gateway; nothing is sent before the first catalog. */
export const createToolVectors = (options: ToolVectorsOptions): ToolVectors => new VectorWork(options)
