import { lookup as resolve, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { type EgressPolicy, readingsOf } from '../domain/egress.ts'
import { UpstreamFailure } from './upstream/failure.ts'

/** Where the gateway itself listens. */
export interface Listening {
  readonly address: string
  readonly port: number
}

export interface EgressOptions {
  readonly policy: EgressPolicy
  readonly connectMs: number
  /** Empty before it listens. */
  readonly own: () => readonly Listening[]
  /** In place of the system's resolver. */
  readonly resolve?: Resolve
}

export type Resolve = (
  name: string,
  options: { readonly all: true; readonly family?: number | 'IPv4' | 'IPv6'; readonly hints?: number },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void
) => void

/** The one way out: everything that the gateway connects to by itself passes this policy (security page 7.4). */
export interface Egress {
  /** Resolves a name, checks every address, and connects to those and no others. Fails with UpstreamFailure `denied`. */
  readonly connector: buildConnector.connector
  /** For requests that are no upstream's: OAuth. Follows no redirects. */
  readonly dispatcher: Dispatcher
  close(): void
}

const REFUSAL = 'the egress policy does not allow this address (TOWPATH_EGRESS_DENY, TOWPATH_EGRESS_ALLOW)'
const LOOP = 'the egress policy does not allow this address: it leads back to this gateway (TOWPATH_EGRESS_ALLOW)'

const denied = (message: string) => new UpstreamFailure('denied', message, { taken: false })
const isLoopbackAddress = (address: string) => address.startsWith('127.') || address === '::1'
const portOf = (protocol: string, port: string) => Number(port) || (protocol === 'https:' ? 443 : 80)

const isOfThisMachine = (address: string) =>
  isLoopbackAddress(address) ||
  Object.values(networkInterfaces()).some((entries) => entries?.some((entry) => entry.address === address))

/** Whether a listener is reached at an address; a wildcard stands for all of this machine. */
function reaches({ address }: Listening, target: string): boolean {
  const isWildcard = address === '0.0.0.0' || address === '::'
  return readingsOf(target).some((reading) => reading === address || (isWildcard && isOfThisMachine(reading)))
}

export function createEgress({ policy, connectMs, own, resolve: ask = resolve }: EgressOptions): Egress {
  const isOwn = (address: string, port: number) =>
    !policy.isAllowed(address) && own().some((listening) => listening.port === port && reaches(listening, address))

  const problemOf = (address: string, port: number | null): string | undefined => {
    if (policy.isDenied(address)) return REFUSAL
    return port !== null && isOwn(address, port) ? LOOP : undefined
  }

  /** `port` null: not one of ours, so that only the policy counts. */
  const lookupFor =
    (port: number | null): LookupFunction =>
    (name, options, done) => {
      const family = options.family ?? 0
      ask(name, { all: true, family, ...(options.hints ? { hints: options.hints } : {}) }, (error, addresses) => {
        if (error) return done(error, [])
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
    if (!own().some((listening) => listening.port === port)) return elsewhere
    const known = besideUs.get(port) ?? through(lookupFor(port))
    besideUs.set(port, known)
    return known
  }

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

  const dispatcher = new Agent({ connect: connector, headersTimeout: connectMs, bodyTimeout: connectMs })
  return {
    connector,
    dispatcher,
    close: () => void dispatcher.close().catch(() => {})
  }
}
