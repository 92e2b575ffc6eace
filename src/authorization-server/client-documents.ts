import { LRUCache } from 'lru-cache'
import { isObject } from '../domain/is-object.ts'
import { networkOf } from '../domain/network/client-address.ts'
import { withKnownScopes } from './known-scopes.ts'
import { redirectUrisProblem } from './redirect-uris.ts'

/** Size of a document, and the time in which it must have arrived. */
export const DOCUMENT_LIMITS = { bytes: 5_120, timeoutMs: 5_000 } as const
/** Seconds for which a document that was read is not read again, whatever it is. */
const MEMORY_S = 60
/** Seconds for which the library may use a valid document, by its HTTP headers; with `MEMORY_S` at most 24 hours. */
export const DOCUMENT_LIFE = { min: 300, max: 86_400 - MEMORY_S } as const
const MAX_READS = 10
const MAX_READS_OF_CALLER = 3
const MAX_REMEMBERED = 1_000
const MAX_URL = 2_048

export interface ClientDocumentsOptions {
  /** Reads a URL within `DOCUMENT_LIMITS`, from public addresses only, without redirects. */
  readonly fetch: (url: string, init: RequestInit | undefined) => Promise<Response>
  /** Hosts whose documents are read; undefined: all. */
  readonly hosts: readonly string[] | undefined
  readonly redirectSchemes: readonly string[]
  /** Milliseconds of a clock that only goes forward. */
  readonly now?: () => number
}

/** Why a document is refused. */
export interface DocumentProblem {
  readonly problem: string
  /** True if nothing is known against the client. */
  readonly isTemporary: boolean
}

type Reading = { readonly text: string; readonly headers: Headers } | DocumentProblem

/** Reads the documents of OAuth clients whose id is a URL (Client ID Metadata Documents). */
export interface ClientDocuments {
  /**
   * Reads a document, unless it was read in the last minute. `caller`: address of who asks. Resolves with undefined if
   * the document is good, or could not be read and was good less than 24 hours ago.
   */
  prepare(url: string, caller: string): Promise<DocumentProblem | undefined>
  /** Returns the prepared document. Reads any other URL, such as that of the client's keys, within the same limits. */
  open(url: string, init: RequestInit | undefined): Promise<Response>
}

const refused = (problem: string): DocumentProblem => ({ problem, isTemporary: false })
const failed = (problem: string): DocumentProblem => ({ problem, isTemporary: true })
const busy = failed('too many documents are being read; try again in some seconds')

/** Parses a document. Returns why it is none for a client with this id (Client ID Metadata Documents, section 4). */
function parseDocument(text: string, url: string, schemes: readonly string[]): Record<string, unknown> | string {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    return 'it is not JSON'
  }
  if (!isObject(document)) return 'it is not a JSON object'
  if (document['client_id'] !== url) return '"client_id" must be exactly its URL'
  const name = document['client_name']
  if (typeof name !== 'string' || name.trim() === '') return '"client_name" is missing'
  return redirectUrisProblem(document['redirect_uris'], schemes) ?? document
}

/** Counts reads in progress, in all and of each address or IPv6 /64 network. */
function createReadLimit() {
  const byCaller = new Map<string, number>()
  let all = 0
  /** Returns the function to call at the end of the read; undefined if it must not begin. */
  return (caller: string): (() => void) | undefined => {
    const key = networkOf(caller)
    const own = byCaller.get(key) ?? 0
    if (all >= MAX_READS || own >= MAX_READS_OF_CALLER) return undefined
    all++
    byCaller.set(key, own + 1)
    return () => {
      all--
      const left = byCaller.get(key)! - 1
      if (left === 0) byCaller.delete(key)
      else byCaller.set(key, left)
    }
  }
}

async function readDocument(options: ClientDocumentsOptions, url: string): Promise<Reading> {
  try {
    const answer = await options.fetch(url, { headers: { accept: 'application/json' } })
    const { status, headers } = answer
    if (status !== 200) return { problem: `its status is ${status}`, isTemporary: status >= 500 || status === 429 }
    const text = await answer.text()
    const document = parseDocument(text, url, options.redirectSchemes)
    if (typeof document === 'string') return refused(document)
    return { text: JSON.stringify(withKnownScopes(document)), headers }
  } catch {
    // the cause would tell strangers about the network
    return failed('it cannot be read')
  }
}

/** Creates the reader. */
export function createClientDocuments(options: ClientDocumentsOptions): ClientDocuments {
  const { hosts, now = () => performance.now() } = options
  const createCache = <T extends object>(seconds: number) =>
    new LRUCache<string, T>({ max: MAX_REMEMBERED, ttl: seconds * 1_000, ttlResolution: 0, perf: { now } })
  const recent = createCache<Reading>(MEMORY_S)
  // a document without cache headers is used for the shortest time
  const good = createCache<{ readonly text: string }>(DOCUMENT_LIFE.max - DOCUMENT_LIFE.min)
  const pending = new Map<string, Promise<Reading>>()
  const begin = createReadLimit()

  const read = async (url: string): Promise<Reading> => {
    const reading = await readDocument(options, url)
    if ('text' in reading) {
      good.set(url, { text: reading.text })
      return reading
    }
    const last = reading.isTemporary ? good.get(url) : undefined
    return last ? { text: last.text, headers: new Headers() } : reading
  }
  /** Reads once for all who ask at the same time. */
  const readOnce = (url: string, caller: string): Promise<Reading> | Reading => {
    const running = pending.get(url)
    if (running) return running
    const end = begin(caller)
    if (!end) return busy
    const started = read(url).then((reading) => {
      end()
      pending.delete(url)
      recent.set(url, reading)
      return reading
    })
    pending.set(url, started)
    return started
  }
  return {
    async prepare(url, caller) {
      if (url.length > MAX_URL) return refused(`its URL is longer than ${MAX_URL} characters`)
      const host = new URL(url).hostname.toLowerCase()
      if (hosts && !hosts.includes(host)) return refused('programs of its host are not allowed')
      const reading = recent.get(url) ?? (await readOnce(url, caller))
      return 'problem' in reading ? reading : undefined
    },
    async open(url, init) {
      const reading = recent.get(url, { allowStale: true })
      if (reading && 'text' in reading) return new Response(reading.text, { headers: reading.headers })
      const end = begin('')
      if (!end) throw new Error(busy.problem)
      try {
        return await options.fetch(url, init)
      } finally {
        end()
      }
    }
  }
}
