import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildCatalog } from '../../src/catalog/catalog.ts'
import { scopeAt } from '../../src/catalog/scope.ts'
import { createSearchIndex, type SearchIndex } from '../../src/catalog/search-index.ts'
import { DEFAULT_SEARCH_LIMIT } from '../../src/domain/search/limits.ts'
import { stateOf, storedGroup, storedServer, tool } from '../../test/unit/stored.ts'
import { percentile } from '../statistics.ts'
import type { FunctionCalls } from './data.ts'

const TOOLS = 2_600
const SERVERS = 26
const QUERIES = 1_000
const MIB = 2 ** 20

/** Times and memory of the index, for a number of tools. */
export interface Speed {
  readonly tools: number
  readonly servers: number
  /** Milliseconds from the first query on an empty index to its answer */
  readonly firstMs: number
  /** Milliseconds of the first query after a catalog, once its postings were made in the background */
  readonly readyMs: number
  /** Longest stall of the event loop meanwhile, in milliseconds */
  readonly stallMs: number
  readonly p50: number
  readonly p99: number
  /** Additional resident memory, and the size that the index states */
  readonly rssMib: number
  readonly indexMib: number
}

/** Returns a catalog whose group `g` has many tools of many servers. */
function manyTools({ tools }: FunctionCalls) {
  const all = Array.from({ length: TOOLS }, (_, i) => {
    const definition = JSON.parse(tools[i % tools.length]!.definition) as object
    const name = `tool_${i}`
    return tool(name, { definition: JSON.stringify({ ...definition, name }) })
  })
  const size = TOOLS / SERVERS
  const names = Array.from({ length: SERVERS }, (_, i) => `server-${i}`)
  const servers = names.map((name, i) => storedServer(name, all.slice(i * size, (i + 1) * size)))
  const group = storedGroup('g', { included_servers: names, tool_list: 'search' })
  return buildCatalog(stateOf('1', { servers, groups: [group] }))
}

const rss = () => {
  globalThis.gc?.()
  return process.memoryUsage().rss / MIB
}

/** Waits until an index makes no more postings. */
async function settled(index: SearchIndex): Promise<void> {
  for (let before = -1; index.bytes !== before; await sleep(500)) before = index.bytes
}

/** Measures the index of search mode in this process. */
export async function measureSpeed(data: FunctionCalls): Promise<Speed> {
  const catalog = manyTools(data)
  const scope = scopeAt(catalog, 'g')
  const index = createSearchIndex()
  const before = rss()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await sleep(50)
  delay.reset()
  const startedAt = performance.now()
  const search = await index.of(scope)
  await search.find(data.requests[0]!.query, DEFAULT_SEARCH_LIMIT)
  const firstMs = performance.now() - startedAt
  await sleep(20)
  const stallMs = delay.max / 1e6
  delay.disable()
  const rssMib = rss() - before
  const times: number[] = []
  for (const { query } of data.requests.slice(0, QUERIES)) {
    const since = performance.now()
    await search.find(query, DEFAULT_SEARCH_LIMIT)
    times.push(performance.now() - since)
  }
  const ahead = createSearchIndex()
  ahead.follow(catalog)
  await settled(ahead)
  const since = performance.now()
  await (await ahead.of(scope)).find(data.requests[0]!.query, DEFAULT_SEARCH_LIMIT)
  const readyMs = performance.now() - since
  const p = (percent: number) => percentile(times, percent)
  return {
    tools: TOOLS,
    servers: SERVERS,
    firstMs,
    readyMs,
    stallMs,
    p50: p(50),
    p99: p(99),
    rssMib,
    indexMib: index.bytes / MIB
  }
}
