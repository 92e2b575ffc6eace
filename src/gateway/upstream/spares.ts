import type { Sink } from './call.ts'
import type { Connection, Era } from './connection.ts'
import { createPoolSizer, allocateSessions, type PoolSizer } from './demand.ts'
import { createSpare, type Spare, type SpareOptions } from './spare.ts'
import { Opening } from './stages.ts'

/** What sessions that nobody has used yet differ in: what was told of the client when they were opened. */
export interface Kind {
  readonly era: Era
  /** JSON text of the client capabilities that were declared. */
  readonly capabilities: string
}

/** A connection that is being made, and how far that is. */
export interface Underway {
  readonly opening: Promise<Connection>
  readonly stages: Opening
}

export interface SparesOptions extends Pick<SpareOptions, 'basis'> {
  /** How many there may be, those included that are being opened. */
  readonly most: number
  /** A spare expires so long after the last call that could have used it. */
  readonly idleMs: number
  /** Opens one; undefined where there is no place for it at present. Rejects with UpstreamFailure. */
  readonly open: (kind: Kind, stages: Opening) => Promise<Connection> | undefined
  /** Runs an opening when its turn has come. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>
  /** Whether the upstream may be contacted without a call that needs it. */
  readonly isAvailable: () => boolean
  /** One is ready, or one of those is there no more. */
  readonly onChange: (isReady: boolean) => void
}

/**
 * Sessions of one upstream that are open and belong to nobody: a call takes one instead of opening its own, and closes it
 * (architecture, idea 6). They are made behind calls, for the next ones.
 */
export interface Spares {
  readonly ready: number
  /** One for a call of that kind; undefined: none is ready. `sink` answers what the upstream has asked on it so far. */
  take(kind: Kind, sink: Sink): Connection | undefined
  /** One that is being opened already, for a call that had none. */
  join(kind: Kind): Underway | undefined
  /** A session was opened, for whomever, in so many milliseconds: the upstream can be reached. */
  opened(ms: number): void
  /** A call has its session: until then a replacement would only hold up what the call waits for. */
  given(): void
  /** A call is over: the time to replace what it took. */
  settled(): void
  /** None that was opened so far is to be used: the upstream, or how it is reached, is not the same any more. */
  discard(): void
  /** The one that will be missed least, where there is one. */
  leastWanted(): Spare | undefined
  close(): void
}

/** One that is being opened, or waits for its turn to be. */
interface Start {
  readonly generation: number
  underway: Underway | null
  isTaken: boolean
}

interface Group extends Kind {
  readonly demand: PoolSizer
  readonly ready: Set<Spare>
  readonly starts: Set<Start>
}

/** A longer call is not waited for: what it took is replaced while it runs. */
const PATIENCE_MS = 100
/** After that long there may be a place: processes that have been used are on their way out. */
const NO_PLACE_MS = 500
/** Access tokens and programs change without a word. */
const LONGEST_REVIEW_MS = 10_000
/** Kinds of callers that are known at a time; who declares something else with every call gets no spares. */
const MAX_KINDS = 16
const MAX_CAPABILITIES = 4_096

const keyOf = ({ era, capabilities }: Kind) => `${era} ${capabilities}`
const held = ({ ready, starts }: Group) => ready.size + starts.size

export function createSpares(options: SparesOptions): Spares {
  const { most, idleMs, open, inTurn, isAvailable, basis, onChange } = options
  /** By kind, the one that was called last at the end. */
  const groups = new Map<string, Group>()
  let openMs = 0
  let generation = 0
  /** An opening has failed, or a spare has died: no other is made until a call, which has to, could open its own. */
  let isDoubtful = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let dueAt = Infinity

  const schedule = (ms: number) => {
    const at = performance.now() + ms
    if (isClosed || at >= dueAt) return
    clearTimeout(timer)
    dueAt = at
    timer = setTimeout(review, ms).unref()
  }
  const endAll = ({ ready }: Group) => {
    for (const spare of ready) spare.end()
  }
  const forget = (key: string, group: Group) => {
    groups.delete(key)
    endAll(group)
  }
  const groupOf = (kind: Kind): Group => {
    const { era, capabilities } = kind
    const key = keyOf(kind)
    const known = groups.get(key)
    const demand = known?.demand ?? createPoolSizer(most, idleMs)
    const group = known ?? { era, capabilities, demand, ready: new Set(), starts: new Set() }
    groups.delete(key)
    groups.set(key, group)
    const [oldest] = groups
    if (groups.size > MAX_KINDS) forget(...oldest!)
    return group
  }

  const keep = (group: Group, connection: Connection) => {
    const spare = createSpare(connection, {
      canBeAsked: group.capabilities !== '{}',
      basis,
      onGone(hasDied) {
        group.ready.delete(spare)
        isDoubtful ||= hasDied
        onChange(false)
      }
    })
    group.ready.add(spare)
    onChange(true)
  }
  const openOne = async (group: Group, start: Start) => {
    const isWanted = () => !isClosed && start.generation === generation && [...groups.values()].includes(group)
    if (!isWanted()) return
    const before = basis()
    const isSame = () => before === undefined || before === basis()
    const stages = new Opening()
    const opening = open(group, stages)
    if (!opening) return schedule(NO_PLACE_MS)
    start.underway = { opening, stages }
    const connection = await opening
    if (start.isTaken) return
    if (connection.closed) isDoubtful = true
    else if (isWanted() && isSame()) return keep(group, connection)
    connection.close()
    schedule(PATIENCE_MS)
  }
  const begin = async (group: Group) => {
    const start: Start = { generation, underway: null, isTaken: false }
    group.starts.add(start)
    try {
      await inTurn(() => openOne(group, start))
    } catch {
      isDoubtful = true
    } finally {
      group.starts.delete(start)
    }
  }
  const end = (now: number) => {
    for (const [key, group] of groups) {
      if (group.demand.expiresAt <= now) forget(key, group)
      for (const spare of group.ready) if (!spare.isGood) spare.end()
    }
  }
  const beginAll = (all: readonly Group[], shares: readonly number[]) => {
    let left = most - all.reduce((sum, group) => sum + held(group), 0)
    for (const [at, group] of all.entries()) {
      for (; held(group) < shares[at]! && left > 0; left--) void begin(group)
    }
  }
  function review(): void {
    dueAt = Infinity
    const now = performance.now()
    end(now)
    const all = [...groups.values()]
    const shares = allocateSessions(
      all.map((group) => ({ ...group.demand.targetAt(now), count: held(group) })),
      most
    )
    for (const [at, { ready }] of all.entries()) for (const spare of [...ready].slice(shares[at])) spare.end()
    if (!isDoubtful && isAvailable()) beginAll(all, shares)
    if (all.length > 0) schedule(Math.min(LONGEST_REVIEW_MS, ...all.map(({ demand }) => demand.expiresAt - now)))
  }

  const takeReady = ({ ready }: Group, sink: Sink): Connection | undefined => {
    for (const spare of ready) {
      if (spare.isGood) return spare.take(sink)
      spare.end()
    }
    return undefined
  }
  return {
    get ready() {
      let sum = 0
      for (const { ready } of groups.values()) sum += ready.size
      return sum
    },
    take(kind, sink) {
      if (isClosed || kind.capabilities.length > MAX_CAPABILITIES) return undefined
      const group = groupOf(kind)
      group.demand.recordCall(performance.now(), PATIENCE_MS + openMs)
      return takeReady(group, sink)
    },
    join(kind) {
      const starts = groups.get(keyOf(kind))?.starts ?? new Set<Start>()
      const start = [...starts].find((each) => each.underway && each.generation === generation)
      if (!start) return undefined
      start.isTaken = true
      starts.delete(start)
      return start.underway!
    },
    opened(ms) {
      isDoubtful = false
      openMs = openMs === 0 ? ms : openMs * 0.7 + ms * 0.3
    },
    given: () => schedule(PATIENCE_MS),
    settled: () => schedule(0),
    discard() {
      generation++
      for (const group of groups.values()) endAll(group)
      if (groups.size > 0) schedule(PATIENCE_MS)
    },
    leastWanted() {
      const now = performance.now()
      const full = [...groups.values()].filter(({ ready }) => ready.size > 0)
      const [least] = full.sort((a, b) => a.demand.targetAt(now).load - b.demand.targetAt(now).load)
      return least?.ready.values().next().value
    },
    close() {
      isClosed = true
      clearTimeout(timer)
      for (const [key, group] of groups) forget(key, group)
    }
  }
}
