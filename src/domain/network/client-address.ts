import { isIP, isIPv4 } from 'node:net'
import { createNetworkTest, type EgressRule } from './egress.ts'

/** Entries read from the right end of `X-Forwarded-For`; a longer chain of trusted proxies is a loop */
const MAX_HOPS = 32
/** Length of `[` + the longest IPv6 address + `]:65535` */
const MAX_ENTRY = 53

/** Resolves the addresses of clients behind proxies. */
export interface AddressResolver {
  /**
   * Returns true if requests of this peer may name another client address; limits per address must not count such a
   * peer.
   */
  isProxy(peer: string | undefined): boolean
  /**
   * Returns the client's address: the peer's or, if the peer is a trusted proxy, the rightmost entry of
   * `X-Forwarded-For` that is not a trusted proxy. An entry that is not an address ends the search; the client is then
   * the last proxy before it. Returns '' if the peer has no address (a Unix socket, a closed connection).
   */
  resolve(peer: string | undefined, forwardedFor: string | readonly string[] | undefined): string
}

/** Converts IPv4-mapped IPv6 addresses to IPv4, so that each client has one address. */
const toIPv4IfMapped = (address: string) => (/^::ffff:\d/i.test(address) ? address.slice(7) : address)

/** Parses an entry of `X-Forwarded-For` to an address without brackets and port; undefined if it is not an address. */
function parseEntry(text: string): string | undefined {
  if (text.length > MAX_ENTRY) return undefined
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+)(?::\d{1,5})?$/.exec(text)?.[1] ?? text
  return isIP(bare) === 0 || bare.includes('%') ? undefined : toIPv4IfMapped(bare.toLowerCase())
}

/**
 * Creates the resolver. `proxies`: networks whose `X-Forwarded-For` header is trusted; if empty, the header is never
 * read.
 */
export function createAddressResolver(proxies: readonly EgressRule[]): AddressResolver {
  const contains = createNetworkTest(proxies)
  const isTrusted = (address: string) => isIP(address) !== 0 && contains(address)
  const isProxy = (peer: string | undefined) =>
    proxies.length > 0 && peer !== undefined && isTrusted(toIPv4IfMapped(peer))

  return {
    isProxy,
    resolve(peer = '', forwardedFor) {
      let client = toIPv4IfMapped(peer)
      if (forwardedFor === undefined || !isProxy(peer)) return client
      const list = typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(',')
      let end = list.length
      for (let hop = 0; hop < MAX_HOPS && end >= 0; hop++) {
        const start = list.lastIndexOf(',', end - 1)
        const entry = parseEntry(list.slice(start + 1, end).trim())
        if (entry === undefined) break
        client = entry
        if (!isTrusted(client)) break
        end = start
      }
      return client
    }
  }
}

/** Returns the key that rate limits count a client by: its IPv4 address, or the /64 network of its IPv6 address. */
export function networkOf(address: string): string {
  const bare = toIPv4IfMapped(address)
  if (isIPv4(bare) || !bare.includes(':')) return bare
  const [head = '', tail] = bare.toLowerCase().replace(/%.*$/, '').split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0')
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`
}
