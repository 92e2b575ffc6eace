import { lookup as resolve, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { createReachOf, isInside, type EgressPolicy, type Reach, readingsOf } from '../domain/egress.ts'
import { UpstreamFailure } from './upstream/failure.ts'

/** Where the gateway itself listens. */
export interface ListenAddress {
  readonly address: string
  readonly port: number
}

export interface EgressOptions {
  readonly policy: EgressPolicy
  readonly connectMs: number
  /** Empty before it listens. */
  readonly listenAddresses: () => readonly ListenAddress[]
  /** In place of the system's resolver. */
  readonly resolve?: Resolve
}

export type Resolve = (
  name: string,
  options: { readonly all: true; readonly family?: number | 'IPv4' | 'IPv6'; readonly hints?: number },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void
) => void

/**
 * The one way out: everything that the gateway connects to by itself passes this policy
 * (security-model.md#egress-policy).
 */
export interface Egress {
  /** Resolves a name, checks every address, and connects to those and no others. Fails with UpstreamFailure `denied`. */
  readonly connector: buildConnector.connector
  /**
   * For requests to addresses that a server names (OAuth); `configured` is the URL that it was registered with. These reach
   * loopback only if that does, and private networks only if that is on one or on loopback, but for what
   * TOWPATH_EGRESS_ALLOW lists. Follows no redirects. Never rejects.
   */
  dispatcherFor(configured: string): Promise<Dispatcher>
  /** False if such a request would be refused. Resolves names. Never rejects. */
  admits(named: string, configured: string): Promise<boolean>
  close(): void
}

const REFUSAL = 'the egress policy does not allow this address (TOWPATH_EGRESS_DENY, TOWPATH_EGRESS_ALLOW)'
const LOOP = 'the egress policy does not allow this address: it leads back to this gateway (TOWPATH_EGRESS_ALLOW)'

const INSIDE =
  'the address lies on loopback or a private network, which the URL of the server does not (TOWPATH_EGRESS_ALLOW)'
/** Hosts whose place is remembered; the one that was added first gives way. */
const MAX_KNOWN_HOSTS = 10_000

const denied = (message: string) => new UpstreamFailure('denied', message, { maybeProcessed: false })
const isLoopbackAddress = (address: string) => address.startsWith('127.') || address === '::1'
const portOf = (protocol: string, port: string) => Number(port) || (protocol === 'https:' ? 443 : 80)

const isOfThisMachine = (address: string) =>
  isLoopbackAddress(address) ||
  Object.values(networkInterfaces()).some((entries) => entries?.some((entry) => entry.address === address))

/** Whether a listener is reached at an address; a wildcard stands for all of this machine. */
function isReachedAt({ address }: ListenAddress, target: string): boolean {
  const isWildcard = address === '0.0.0.0' || address === '::'
  return readingsOf(target).some((reading) => reading === address || (isWildcard && isOfThisMachine(reading)))
}

const hostOf = (url: string) => new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')

/** Remembers the outermost address that each host name had: a name that moves inside later gains nothing by it. */
function createKnownHosts(reachOf: (address: string) => Reach) {
  const known = new Map<string, Reach>()
  return {
    get: (host: string) => known.get(host),
    note(host: string, addresses: readonly LookupAddress[]) {
      for (const { address } of addresses) {
        const reach = reachOf(address)
        const before = known.get(host)
        if (before !== undefined && !isInside(before, reach)) continue
        if (before === undefined && known.size >= MAX_KNOWN_HOSTS) known.delete(known.keys().next().value!)
        known.set(host, reach)
      }
    }
  }
}

/** The connector for addresses up to a place, and no further inside. */
function createConnector(
  { policy, connectMs, listenAddresses, resolve: ask = resolve }: EgressOptions,
  reachOf: (address: string) => Reach,
  most: Reach,
  onResolved: (host: string, addresses: readonly LookupAddress[]) => void
) {
  const isOwn = (address: string, port: number) =>
    !policy.isAllowed(address) &&
    listenAddresses().some((listening) => listening.port === port && isReachedAt(listening, address))

  const problemOf = (address: string, port: number | null): string | undefined => {
    if (policy.isDenied(address)) return REFUSAL
    if (isInside(reachOf(address), most) && !policy.isAllowed(address)) return INSIDE
    return port !== null && isOwn(address, port) ? LOOP : undefined
  }

  /** `port` null: not one of ours, so that only the policy counts. */
  const lookupFor =
    (port: number | null): LookupFunction =>
    (name, options, done) => {
      const family = options.family ?? 0
      ask(name, { all: true, family, ...(options.hints ? { hints: options.hints } : {}) }, (error, addresses) => {
        if (error) return done(error, [])
        onResolved(name, addresses)
        const isFree = policy.verdictOf(name) === 'allowed'
        const problem = isFree ? undefined : addresses.map(({ address }) => problemOf(address, port)).find(Boolean)
        if (problem !== undefined) return done(denied(problem), [])
        if (options.all) return done(null, addresses)
        const [first] = addresses
        done(null, first!.address, first!.family)
      })
    }

  const through = (lookup: LookupFunction) =>
    // said here because a variable of the environment could switch it off
    buildConnector({ timeout: connectMs, lookup, rejectUnauthorized: true })
  const elsewhere = through(lookupFor(null))
  const besideUs = new Map<number, buildConnector.connector>()

  /** The lookup does not know the port; ours are few. */
  const connectorAt = (port: number): buildConnector.connector => {
    if (!listenAddresses().some((listening) => listening.port === port)) return elsewhere
    const known = besideUs.get(port) ?? through(lookupFor(port))
    besideUs.set(port, known)
    return known
  }

  /** The problem with a host as it stands in a URL; undefined for a name, whose addresses decide. */
  const literalProblem = (host: string, port: number): string | undefined => {
    const verdict = policy.verdictOf(host)
    if (verdict === 'allowed') return undefined
    if (verdict === 'denied') return REFUSAL
    return isIP(host) !== 0 ? problemOf(host, port) : undefined
  }

  const connector: buildConnector.connector = (options, done) => {
    const port = portOf(options.protocol, options.port)
    const problem = literalProblem(options.hostname, port)
    if (problem !== undefined) return queueMicrotask(() => done(denied(problem), null))
    connectorAt(port)(options, done)
  }
  const admits = (url: string) =>
    new Promise<boolean>((done) => {
      const { protocol, port } = new URL(url)
      const [host, number] = [hostOf(url), portOf(protocol, port)]
      if (isIP(host) !== 0 || policy.verdictOf(host) !== undefined) return done(!literalProblem(host, number))
      lookupFor(number)(host, { all: true }, (error) => done(!(error instanceof UpstreamFailure)))
    })
  return { connector, admits }
}

export function createEgress(options: EgressOptions): Egress {
  const { connectMs, resolve: ask = resolve } = options
  const reachOf = createReachOf()
  const known = createKnownHosts(reachOf)
  // the addresses of servers are configured by administrators: they may lie anywhere
  const { connector } = createConnector(options, reachOf, 'loopback', known.note)
  const wayTo = (most: Reach) => {
    const way = createConnector(options, reachOf, most, () => {})
    const agent = new Agent({ connect: way.connector, headersTimeout: connectMs, bodyTimeout: connectMs })
    return { ...way, agent }
  }
  const ways = { public: wayTo('public'), private: wayTo('private'), loopback: wayTo('loopback') }

  /** A name counts as it was when its server was reached; asked for now only if that was before the start. */
  const wayFrom = async (configured: string) => {
    const host = hostOf(configured)
    if (isIP(host) !== 0) return ways[reachOf(host)]
    if (known.get(host) === undefined) {
      await new Promise<void>((done) => {
        ask(host, { all: true }, (error, addresses) => {
          if (!error) known.note(host, addresses)
          done()
        })
      })
    }
    return ways[known.get(host) ?? 'public']
  }
  return {
    connector,
    dispatcherFor: async (configured) => (await wayFrom(configured)).agent,
    admits: async (named, configured) => (await wayFrom(configured)).admits(named),
    close() {
      for (const { agent } of Object.values(ways)) void agent.close().catch(() => {})
    }
  }
}
