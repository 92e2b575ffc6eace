import { openConnection, type Connection } from './connection.ts'
import { percentile } from './statistics.ts'

/** The request to repeat. `requests` has one entry per connection, so that each may have its own session. */
export interface Target {
  readonly host: string
  readonly port: number
  /** Whole HTTP requests. The load generator increments `"id":10000000` in the body. */
  readonly requests: readonly string[]
  /** Text that occurs in every correct response and in no other. */
  readonly marker: string
  readonly minBytes: number
}

/** Parameters of a round; connections are kept between rounds with the same `key`. */
export interface Order {
  readonly key: string
  readonly target: Target
  readonly ms: number
  /** Concurrent requests; with `perSecond` requests are sent at a steady rate regardless of response times. */
  readonly perSecond?: number
  /**
   * The round ends after this many requests, or by its time limit: every candidate does the same work on a busy machine
   * too.
   */
  readonly most?: number
}

export interface Round {
  readonly requests: number
  readonly errors: number
  /** The first error. */
  readonly sample: string
  readonly elapsedMs: number
  readonly p50: number
  readonly p99: number
  readonly maxMs: number
}

const connections = new Map<string, Connection[]>()

function connectionsOf({ key, target }: Order): Connection[] {
  const known = connections.get(key)
  if (known) return known
  const made = target.requests.map((request) => openConnection(target, request))
  connections.set(key, made)
  return made
}

/** Each connection sends its next request as soon as it has a response. */
async function closedLoop(
  all: readonly Connection[],
  { ms, most = Infinity }: Order,
  ask: (one: Connection, from: number) => Promise<void>
) {
  const end = performance.now() + ms
  let sent = 0
  const work = async (one: Connection) => {
    while (performance.now() < end && sent++ < most) await ask(one, performance.now())
  }
  await Promise.all(all.map(work))
}

/**
 * Latency counts from the time a request was due, so that a slow response does not hide the requests queued behind it.
 */
async function steadyRate(
  all: readonly Connection[],
  ms: number,
  perSecond: number,
  ask: (one: Connection, from: number) => Promise<void>
) {
  const begun = performance.now()
  const queues = all.map(() => Promise.resolve())
  for (let sent = 0; (sent * 1_000) / perSecond < ms; sent++) {
    const due = begun + (sent * 1_000) / perSecond
    // a timer takes a millisecond at least: what is due by now is sent together
    const early = due - performance.now()
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
    const at = sent % all.length
    queues[at] = queues[at]!.then(() => ask(all[at]!, due))
  }
  await Promise.all(queues)
}

async function run(order: Order): Promise<Round> {
  const latencies: number[] = []
  let errors = 0
  let sample = ''
  const ask = async (one: Connection, from: number) => {
    const problem = await one.ask()
    latencies.push(performance.now() - from)
    if (problem === '') return
    errors++
    sample ||= problem
  }
  const all = connectionsOf(order)
  const begun = performance.now()
  await (order.perSecond ? steadyRate(all, order.ms, order.perSecond, ask) : closedLoop(all, order, ask))
  const elapsedMs = performance.now() - begun
  const [p50, p99, maxMs] = [50, 99, 100].map((percent) => percentile(latencies, percent)) as [number, number, number]
  return { requests: latencies.length, errors, sample, elapsedMs, p50, p99, maxMs }
}

process.on('message', (order: Order) => void run(order).then((round) => process.send!(round)))
process.on('disconnect', () => process.exit())
