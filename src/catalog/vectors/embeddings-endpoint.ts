import { LRUCache } from 'lru-cache'
import { encodeVector, type Vector } from '../../domain/search/vectors.ts'

/** An endpoint that answers like `POST /v1/embeddings` of OpenAI. */
export interface EmbeddingsTarget {
  /** Its URL without `/embeddings` */
  readonly url: string
  readonly model: string
  /** Sent as a bearer token */
  readonly key: string | undefined
}

/** Failure of the endpoint; the message contains no text of the endpoint. */
export class EmbeddingsFailure extends Error {
  /** True if the endpoint refuses these texts and may take others */
  readonly isRefusal: boolean

  constructor(message: string, isRefusal = false) {
    super(message)
    this.isRefusal = isRefusal
  }
}

/** Asks an endpoint for vectors. Its answers are checked as those of a stranger. */
export interface EmbeddingsEndpoint {
  readonly model: string
  /** Dimensions of the model, once an answer has shown them */
  readonly dimensions: number | undefined
  /** Returns a vector for each text. Rejects with EmbeddingsFailure. */
  vectorsOf(texts: readonly string[], signal?: AbortSignal): Promise<Vector[]>
  /** Returns the vector of a query; undefined if the endpoint takes too long or fails. Never rejects. */
  queryVector(query: string): Promise<Vector | undefined>
  /** Failure of the last queries; undefined if the last one got its vector in time */
  readonly problem: string | undefined
}

export interface EndpointOptions extends EmbeddingsTarget {
  /** `fetch` within the egress policy, bounded in bytes and time, for answers of this many bytes. */
  readonly fetchFor: (maxBytes: number, timeoutMs: number) => (url: string, init: RequestInit) => Promise<Response>
  readonly now?: () => number
}

/** Texts of one request */
export const MAX_BATCH = 16
/** Bytes of an answer for each text: 4,096 numbers of 24 characters */
const TEXT_ANSWER_BYTES = 98_304
const ANSWER_BYTES = 16_384
const BATCH_MS = 30_000
const QUERY_MS = 10_000
/** Longest wait of a query for its vector */
const WAIT_MS = 300
/** Queries whose vectors are remembered */
const MAX_QUERIES = 500
/** Queries that wait at the same time; further ones do without */
const MAX_WAITING = 8
/** Queries in a row that fail or are late, until the endpoint is left alone for a while */
const MAX_FAILURES = 3
const PAUSE_MS = 30_000

const refusals: ReadonlySet<number> = new Set([400, 413, 422])

/** Reads the vectors of an answer in the order of the texts. Throws EmbeddingsFailure. */
export function readVectors(body: unknown, count: number, dimensions: number | undefined): Vector[] {
  const data = (body as { readonly data?: unknown } | null)?.data
  if (!Array.isArray(data) || data.length !== count)
    throw new EmbeddingsFailure('its answer has no vector for each text')
  const found = new Map<number, Vector>()
  for (const [at, entry] of (data as unknown[]).entries()) {
    const { index = at, embedding } = (entry ?? {}) as { readonly index?: unknown; readonly embedding?: unknown }
    const vector = encodeVector(embedding)
    if (!vector) throw new EmbeddingsFailure('its answer has a vector that is none')
    if (typeof index === 'number') found.set(index, vector)
  }
  const vectors = Array.from({ length: count }, (_, at) => found.get(at))
  const expected = dimensions ?? vectors[0]?.values.length
  return vectors.map((vector) => {
    if (!vector) throw new EmbeddingsFailure('its answer has two vectors for one text')
    if (vector.values.length === expected) return vector
    throw new EmbeddingsFailure(`its answer has ${vector.values.length} dimensions instead of ${expected}`)
  })
}

const failureOf = (error: unknown): EmbeddingsFailure => {
  if (error instanceof EmbeddingsFailure) return error
  const { name, message } = error as Error
  if (name === 'TimeoutError') return new EmbeddingsFailure('it did not answer in time')
  return new EmbeddingsFailure(`it cannot be asked: ${message}`)
}

/** Creates the client of an endpoint; nothing is sent before the first call. */
export function createEmbeddingsEndpoint(options: EndpointOptions): EmbeddingsEndpoint {
  const { url, model, key, fetchFor, now = () => performance.now() } = options
  const queries = new LRUCache<string, Promise<Vector | undefined>>({ max: MAX_QUERIES })
  let dimensions: number | undefined
  let [waiting, failures, pausedUntil] = [0, 0, -Infinity]
  let problem: string | undefined

  const ask = async (texts: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<Vector[]> => {
    try {
      const headers = {
        ...{ 'content-type': 'application/json', accept: 'application/json' },
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` })
      }
      const body = JSON.stringify({ model, input: texts, encoding_format: 'float' })
      const request = fetchFor(ANSWER_BYTES + texts.length * TEXT_ANSWER_BYTES, timeoutMs)
      const answer = await request(`${url}/embeddings`, { method: 'POST', headers, body, signal: signal ?? null })
      const { status } = answer
      if (status !== 200) throw new EmbeddingsFailure(`it answered with status ${status}`, refusals.has(status))
      const parsed: unknown = await answer.json().catch(() => {
        throw new EmbeddingsFailure('its answer is no JSON')
      })
      const vectors = readVectors(parsed, texts.length, dimensions)
      dimensions ??= vectors[0]?.values.length
      return vectors
    } catch (error) {
      throw failureOf(error)
    }
  }
  const askForQuery = async (query: string): Promise<Vector | undefined> => {
    waiting++
    try {
      const [vector] = await ask([query], QUERY_MS)
      return vector
    } catch (error) {
      queries.delete(query)
      // a query that is refused says nothing of the next
      if (!(error as EmbeddingsFailure).isRefusal) noteFailure((error as EmbeddingsFailure).message)
      return undefined
    } finally {
      waiting--
    }
  }
  const noteFailure = (message: string) => {
    problem = message
    if (++failures % MAX_FAILURES === 0) pausedUntil = now() + PAUSE_MS
  }
  const soon = async (answer: Promise<Vector | undefined>): Promise<Vector | undefined> => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>((resolve) => (timer = setTimeout(resolve, WAIT_MS, 'late')))
    const vector = await Promise.race([answer, late])
    clearTimeout(timer)
    if (vector === 'late') noteFailure(`it takes more than ${WAIT_MS} ms for a query`)
    else if (vector) [failures, problem] = [0, undefined]
    return vector === 'late' ? undefined : vector
  }
  return {
    model,
    get dimensions() {
      return dimensions
    },
    vectorsOf: (texts, signal) => ask(texts, BATCH_MS, signal),
    async queryVector(query) {
      const known = queries.get(query)
      if (known) return soon(known)
      if (now() < pausedUntil || waiting >= MAX_WAITING) return undefined
      const asked = askForQuery(query)
      queries.set(query, asked)
      return soon(asked)
    },
    get problem() {
      return problem
    }
  }
}
