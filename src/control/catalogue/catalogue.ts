import type { CatalogueEntry } from '../../domain/catalogue/entry.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import type { CatalogueStore } from '../../registry/repositories/catalogue.ts'
import { indexEntries, type EntryIndex, type SearchQuery, type SearchResult } from './entry-index.ts'
import { packEntries, unpackLines } from './entry-lines.ts'
import { createEntryReader } from './read-entry.ts'
import { readRegistry, RegistryFailure, type RegistryAnswer } from './read-registry.ts'
import shipped from './servers.json' with { type: 'json' }

/** Origin of the entries that are served */
export interface CatalogueSource {
  /** URL of the registry; undefined for the list of the package */
  readonly registry: string | undefined
  /** ISO 8601: date of the package's list, or the time at which the registry was read */
  readonly readAt: string
  /** Failure of the last attempt to read the registry */
  readonly problem: string | undefined
}

/** Servers that can be installed (docs/how-to/catalogue.md) */
export interface ServerCatalogue {
  source(): Promise<CatalogueSource>
  search(query: SearchQuery): Promise<SearchResult>
  find(name: string): Promise<CatalogueEntry | undefined>
  /** Starts to follow the registry, if one is configured. */
  start(): void
  close(): void
}

export interface CatalogueOptions {
  readonly store: CatalogueStore
  readonly registryUrl: string | undefined
  /** Patterns of the names that are served; undefined: all */
  readonly allow: readonly string[] | undefined
  /** Requests JSON from the registry, under the egress policy. */
  get(url: string): Promise<RegistryAnswer>
  readonly log: {
    info(details: object, text: string): void
    warn(details: object, text: string): void
  }
  readonly intervals?: RefreshIntervals
}

/** Times in milliseconds */
export interface RefreshIntervals {
  /** Replicas notice within this time that one of them has read the registry. */
  readonly pollMs: number
  /** Between two readings of the registry */
  readonly freshMs: number
  /** Between two attempts, if they fail */
  readonly retryMs: number
}

const usualIntervals: RefreshIntervals = { pollMs: 60_000, freshMs: 6 * 3_600_000, retryMs: 15 * 60_000 }

interface Served {
  readonly index: EntryIndex
  readonly readAt: string
  readonly isShipped: boolean
}

/** Returns the entries of the package's own list. */
function shippedLines(): string[] {
  const read = createEntryReader()
  return shipped.servers.map((item) => JSON.stringify(read(item)))
}

const problemOf = (error: unknown): string =>
  error instanceof RegistryFailure || error instanceof UpstreamFailure ? error.message : 'it could not be read'

/**
 * Creates the catalogue. Its data is the list of the package until a registry was read. One replica reads the registry
 * and stores the entries, from where all replicas load them; a failure keeps the last entries.
 */
export function createCatalogue(options: CatalogueOptions): ServerCatalogue {
  const { store, registryUrl, allow, log, intervals = usualIntervals } = options
  let served: Promise<Served> | undefined
  let loadedAt = 0
  let problem: string | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const serveShipped = async (): Promise<Served> => ({
    index: await indexEntries(shippedLines(), allow),
    readAt: shipped.date,
    isShipped: true
  })
  const current = () => (served ??= serveShipped())

  const load = async (source: string): Promise<void> => {
    const state = await store.state(source)
    problem = state?.problem ?? undefined
    const readAt = state?.readAt?.getTime() ?? 0
    if (readAt === loadedAt) return
    const stored = await store.load(source)
    if (!stored) return
    const index = await indexEntries(await unpackLines(stored.entries), allow)
    served = Promise.resolve({ index, readAt: stored.readAt.toISOString(), isShipped: false })
    loadedAt = stored.readAt.getTime()
  }
  const read = async (source: string): Promise<void> => {
    try {
      const { entries, leftOut } = await readRegistry(source, options.get)
      await store.save(source, await packEntries(entries))
      log.info({ servers: entries.length, left_out: leftOut }, 'read the catalogue from the MCP registry')
    } catch (error) {
      log.warn({ err: error }, 'the MCP registry cannot be read; the catalogue stays as it is')
      await store.fail(source, problemOf(error))
    }
  }
  const follow = async (source: string): Promise<void> => {
    try {
      await load(source)
      if (!isClosed && (await store.tryStart(source, intervals.freshMs, intervals.retryMs))) {
        await read(source)
        await load(source)
      }
    } catch (error) {
      log.warn({ err: error }, 'the catalogue cannot be loaded from the database')
    }
    if (!isClosed) timer = setTimeout(() => void follow(source), intervals.pollMs).unref()
  }

  return {
    async source() {
      const { readAt, isShipped } = await current()
      return { registry: isShipped ? undefined : registryUrl, readAt, problem }
    },
    search: async (query) => (await current()).index.search(query),
    find: async (name) => (await current()).index.find(name),
    start() {
      if (registryUrl !== undefined) void follow(registryUrl)
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    }
  }
}
