import { performance } from 'node:perf_hooks'
import { buildCatalog, createCatalogCache } from '../../src/catalog/catalog.ts'
import { scopeAt } from '../../src/catalog/scope.ts'
import type { ToolOverrides } from '../../src/domain/overrides/tool-overrides.ts'
import type { StoredServer } from '../../src/registry/model/model.ts'
import { stateOf, storedGroup, storedServer, tool } from '../../test/unit/stored.ts'
import { interleaved, median, medianRatio } from '../statistics.ts'
import { tools } from '../targets/tools.ts'

const SERVERS = 50
const TOOLS = 100
const WARM_UP = 10

/** Result of comparing two swaps. */
export interface SwapCost {
  readonly tools: number
  readonly overrides: number
  readonly ratio: number
  /** Medians in milliseconds */
  readonly plainMs: number
  readonly viewsMs: number
}

const definitions = tools(TOOLS)

/** Returns a server as the registry loads it after a change: with new objects for all its items. */
function serverOf(index: number, revision: number): StoredServer {
  const items = definitions.map((each, i) =>
    tool(each.name, { definition: JSON.stringify(i === 1 ? { ...each, description: `revision ${revision}` } : each) })
  )
  return storedServer(`s${String(index).padStart(2, '0')}`, items, { revision: String(revision) })
}

/** One override for each server: a name, a description, a lock and a default. */
function overrides(): ToolOverrides {
  const of = (index: number) => ({
    name: `echo_${index}`,
    description: 'Gives a message back.',
    arguments: { size: { lock: 200 }, limit: { default: 10 } }
  })
  const names = Array.from({ length: SERVERS }, (_, index) => `s${String(index).padStart(2, '0')}__echo`)
  return Object.fromEntries(names.map((name, index) => [name, of(index)]))
}

/** Returns a function that changes one server, builds the next catalog and the group's lists, and returns the time. */
function createSwaps(group: ToolOverrides): (round: number) => number {
  const cache = createCatalogCache()
  const servers = Array.from({ length: SERVERS }, (_, index) => serverOf(index, 1))
  const included_servers = servers.map(({ name }) => name)
  const groups = [storedGroup('g', { included_servers, tools: group })]
  return (round) => {
    const index = round % SERVERS
    servers[index] = serverOf(index, round + 2)
    const state = stateOf(String(round), { servers: [...servers], groups })
    const begun = performance.now()
    scopeAt(buildCatalog(state, cache), 'g').listings('tool')
    return performance.now() - begun
  }
}

/** Compares the swap after a change of one server, with the lists that clients of the group get, with and without overrides. */
export function compareSwaps(rounds = 200): SwapCost {
  const all = overrides()
  const candidates = [
    { swap: createSwaps({}), ms: [] as number[] },
    { swap: createSwaps(all), ms: [] as number[] }
  ] as const
  for (let round = 0; round < rounds + WARM_UP; round++) {
    for (const { swap, ms } of interleaved(candidates, round)) {
      const took = swap(round)
      if (round >= WARM_UP) ms.push(took)
    }
  }
  const [plain, views] = candidates
  return {
    tools: SERVERS * TOOLS,
    overrides: Object.keys(all).length,
    ratio: medianRatio(views.ms, plain.ms),
    plainMs: median(plain.ms),
    viewsMs: median(views.ms)
  }
}
