import type { CallObservation, Observer } from '../../observe/observation.ts'
import { definitions, OTHER, type Metric } from './definitions.ts'
import { createCount, createFamily, createHistogram, record, type Count, type Family } from './families.ts'
import type { Histogram } from './families.ts'

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const statusClasses = [OTHER, '1xx', '2xx', '3xx', '4xx', '5xx']

/** Creates the counters and histograms that gateway events update. */
export function createCounts() {
  const counters: Family<Count>[] = []
  const histograms: Family<Histogram>[] = []
  const counter = (definition: Metric) => {
    const family = createFamily(definition, createCount)
    counters.push(family)
    return family
  }
  const histogram = (definition: Metric) => {
    const family = createFamily(definition, () => createHistogram(definition.bounds!))
    histograms.push(family)
    return family
  }
  return {
    counters: counters as readonly Family<Count>[],
    histograms: histograms as readonly Family<Histogram>[],
    calls: counter(definitions.toolCalls),
    latency: histogram(definitions.toolCallLatency),
    prompt: counter(definitions.promptGets),
    resource: counter(definitions.resourceReads),
    completion: counter(definitions.completions),
    failedAuthentications: counter(definitions.failedAuthentications),
    lists: counter(definitions.lists),
    connects: counter(definitions.connects),
    connectTime: histogram(definitions.connectTime),
    failures: counter(definitions.failures),
    sessionsTaken: counter(definitions.sessionsTaken),
    decisions: counter(definitions.policyDecisions),
    searches: histogram(definitions.searches),
    searchHits: counter(definitions.searchHits),
    swaps: histogram(definitions.catalogSwap),
    http: histogram(definitions.http)
  }
}
export type Counts = ReturnType<typeof createCounts>

/** Returns the observer that counts. Runs on every call: allocates only when a series is new. */
export function createObserver(counts: Counts): Partial<Observer> {
  const {
    calls,
    latency,
    lists,
    connects,
    connectTime,
    failures,
    sessionsTaken,
    decisions,
    searches,
    searchHits,
    swaps
  } = counts
  const toolCall = ({ server, item, outcome, totalMs, upstreamMs }: CallObservation) => {
    const name = server ?? OTHER
    const tool = server === undefined ? OTHER : (item ?? OTHER)
    calls.at(name, tool, outcome).value++
    record(latency.at(name, 'gateway'), (totalMs - upstreamMs) / 1e3)
    if (upstreamMs > 0) record(latency.at(name, 'upstream'), upstreamMs / 1e3)
  }
  return {
    onCall(done) {
      const { kind, server, outcome } = done
      if (kind === 'tool') toolCall(done)
      else counts[kind].at(server ?? OTHER, outcome).value++
    },
    onList(kind) {
      lists.at(kind).value++
    },
    onConnected(server, transport, ms) {
      connects.at(server, transport).value++
      record(connectTime.at(transport), ms / 1e3)
    },
    onConnectionFailure(server, reason) {
      failures.at(server, reason).value++
    },
    onSessionTaken(server, isSpare) {
      sessionsTaken.at(server, isSpare ? 'hit' : 'miss').value++
    },
    onDecision(effect, mode) {
      decisions.at(effect, mode).value++
    },
    onSearch: (ms) => record(searches.at(), ms / 1e3),
    onSearchHit(rank) {
      searchHits.at(rank === 0 ? 'none' : String(rank)).value++
    },
    onCatalogApplied: (ms) => record(swaps.at(), ms / 1e3)
  }
}

/** Counts one answered HTTP request. */
export const countRequests =
  ({ http }: Counts) =>
  (method: string, route = OTHER, statusCode: number, ms: number): void => {
    const status = statusClasses[Math.floor(statusCode / 100)] ?? OTHER
    record(http.at(methods.has(method) ? method : OTHER, route, status), ms / 1e3)
  }
