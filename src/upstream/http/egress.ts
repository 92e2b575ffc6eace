import { lookup as resolve, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { LRUCache } from 'lru-cache'
import type { Dispatcher } from 'undici'
import {
  createZoneLookup,
  isFurtherInside,
  type EgressPolicy,
  type AddressZone,
  reachableAddresses
} from '../../domain/network/egress.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { HoldingPool, type HoldingPoolOptions } from './holding-pool.ts'
import { Agent, buildConnector } from './undici-parts.ts'

/** Address that the gateway itself listens on. */
export interface ListenAddress {
  readonly address: string
  readonly port: number
}

export interface EgressOptions {
  readonly policy: EgressPolicy
  readonly connectMs: number
  /** Returns an empty array before the gateway listens. */
  readonly listenAddresses: () => readonly ListenAddress[]
  /** Resolver to use instead of the system's. */
  readonly resolve?: Resolve
}

export type Resolve = (
  name: string,
  options: { readonly all: true; readonly family?: number | 'IPv4' | 'IPv6'; readonly hints?: number },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void
) => void

/** Policy for every connection that the gateway opens (security-model.md#egress-policy). */
export interface Egress {
  /** Resolves a host, checks every address, and connects to the checked addresses only. Fails with `denied`. */
  readonly connector: buildConnector.connector
  /**
   * Returns a dispatcher for URLs that an upstream server names (OAuth); `configured` is the URL of the server itself,
   * undefined for URLs that anybody may name. Loopback is reachable only if `configured` is on loopback, and private
   * networks only if it is on a private network or on loopback, except for addresses in TOWPATH_EGRESS_ALLOW. Follows
   * no redirects. Never rejects.
   */
  dispatcherFor(configured: string | undefined): Promise<Dispatcher>
  /** Resolves with false if `dispatcherFor` would refuse a request to `named`. Resolves host names. Never rejects. */
  admits(named: string, configured: string): Promise<boolean>
  close(): void
}

const REFUSAL = 'the egress policy does not allow this address (TOWPATH_EGRESS_DENY, TOWPATH_EGRESS_ALLOW)'
const LOOP = 'the egress policy does not allow this address: it leads back to this gateway (TOWPATH_EGRESS_ALLOW)'

const INSIDE = 'the address is on loopback or a private network, unlike the URL of the server (TOWPATH_EGRESS_ALLOW)'
/** Host names whose outermost zone is remembered; the least recently used is evicted first. */
const MAX_KNOWN_HOSTS = 10_000

const denied = (message: string) => new UpstreamFailure('denied', message, { maybeProcessed: false })
const isLoopbackAddress = (address: string) => address.startsWith('127.') || address === '::1'
const portOf = (protocol: string, port: string) => Number(port) || (protocol === 'https:' ? 443 : 80)

const isOfThisMachine = (address: string) =>
  isLoopbackAddress(address) ||
  Object.values(networkInterfaces()).some((entries) => entries?.some((entry) => entry.address === address))

/** Tests if a listen address is reachable at `target`; a wildcard address covers all addresses of this machine. */
function isReachedAt({ address }: ListenAddress, target: string): boolean {
  const isWildcard = address === '0.0.0.0' || address === '::'
  return reachableAddresses(target).some((each) => each === address || (isWildcard && isOfThisMachine(each)))
}

const hostOf = (url: string) => new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')

/** Remembers the outermost zone of each host name: a name that later resolves further inside gains no access. */
function createKnownHosts(zoneOf: (address: string) => AddressZone) {
  const known = new LRUCache<string, AddressZone>({ max: MAX_KNOWN_HOSTS })
  return {
    get: (host: string) => known.get(host),
    note(host: string, addresses: readonly LookupAddress[]) {
      for (const { address } of addresses) {
        const zone = zoneOf(address)
        const before = known.get(host)
        if (before === undefined || isFurtherInside(before, zone)) known.set(host, zone)
      }
    }
  }
}

/** Creates a connector that refuses addresses in zones further inside than `innermost`. */
function createConnector(
  { policy, connectMs, listenAddresses, resolve: lookUp = resolve }: EgressOptions,
  zoneOf: (address: string) => AddressZone,
  innermost: AddressZone,
  onResolved: (host: string, addresses: readonly LookupAddress[]) => void
) {
  const isOwn = (address: string, port: number) =>
    !policy.isAllowed(address) && listenAddresses().some((own) => own.port === port && isReachedAt(own, address))

  const problemOf = (address: string, port: number | null): string | undefined => {
    if (policy.isDenied(address)) return REFUSAL
    if (isFurtherInside(zoneOf(address), innermost) && !policy.isAllowed(address)) return INSIDE
    return port !== null && isOwn(address, port) ? LOOP : undefined
  }

  /** Returns a checking lookup. `port` null: not a port that the gateway listens on, so only the policy applies. */
  const lookupFor =
    (port: number | null): LookupFunction =>
    (name, options, done) => {
      const family = options.family ?? 0
      lookUp(name, { all: true, family, ...(options.hints ? { hints: options.hints } : {}) }, (error, addresses) => {
        if (error) return done(error, [])
        onResolved(name, addresses)
        const isExempt = policy.checkHost(name) === 'allowed'
        const problem = isExempt ? undefined : addresses.map(({ address }) => problemOf(address, port)).find(Boolean)
        if (problem !== undefined) return done(denied(problem), [])
        if (options.all) return done(null, addresses)
        const [first] = addresses
        done(null, first!.address, first!.family)
      })
    }

  const through = (lookup: LookupFunction) =>
    // explicit, since NODE_TLS_REJECT_UNAUTHORIZED could switch it off
    buildConnector({ timeout: connectMs, lookup, rejectUnauthorized: true })
  const otherPorts = through(lookupFor(null))
  const ownPorts = new Map<number, buildConnector.connector>()

  /** Returns a connector per own port, since a lookup function does not get the port. */
  const connectorAt = (port: number): buildConnector.connector => {
    if (!listenAddresses().some((own) => own.port === port)) return otherPorts
    const known = ownPorts.get(port) ?? through(lookupFor(port))
    ownPorts.set(port, known)
    return known
  }

  /** Returns the problem of a URL's host before any lookup; undefined for names, whose addresses are checked. */
  const literalProblem = (host: string, port: number): string | undefined => {
    const verdict = policy.checkHost(host)
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
      if (isIP(host) !== 0 || policy.checkHost(host) !== undefined) return done(!literalProblem(host, number))
      lookupFor(number)(host, { all: true }, (error) => done(!(error instanceof UpstreamFailure)))
    })
  return { connector, admits }
}

export function createEgress(options: EgressOptions): Egress {
  const { connectMs, resolve: lookUp = resolve } = options
  const zoneOf = createZoneLookup()
  const known = createKnownHosts(zoneOf)
  // administrators configure the URLs of servers: these may be on any network
  const { connector } = createConnector(options, zoneOf, 'loopback', known.note)
  const createRoute = (innermost: AddressZone) => {
    const route = createConnector(options, zoneOf, innermost, () => {})
    const agent = new Agent({
      connect: route.connector,
      headersTimeout: connectMs,
      bodyTimeout: connectMs,
      factory: (origin, options) => new HoldingPool(origin, options as HoldingPoolOptions)
    })
    return { ...route, agent }
  }
  const routes = { public: createRoute('public'), private: createRoute('private'), loopback: createRoute('loopback') }

  /** Returns the route for a server's URL. A host name never connected to since the start is resolved now. */
  const routeFrom = async (configured: string) => {
    const host = hostOf(configured)
    if (isIP(host) !== 0) return routes[zoneOf(host)]
    if (known.get(host) === undefined) {
      await new Promise<void>((done) => {
        lookUp(host, { all: true }, (error, addresses) => {
          if (!error) known.note(host, addresses)
          done()
        })
      })
    }
    return routes[known.get(host) ?? 'public']
  }
  return {
    connector,
    dispatcherFor: async (configured) => (configured === undefined ? routes.public : await routeFrom(configured)).agent,
    admits: async (named, configured) => (await routeFrom(configured)).admits(named),
    close() {
      for (const { agent } of Object.values(routes)) void agent.close().catch(() => {})
    }
  }
}
