import { isIP, isIPv4 } from 'node:net'
import { networksOf, type EgressRule } from './egress.ts'

/** Hops that are read from the right end of `X-Forwarded-For`; a longer chain of one's own proxies is a loop. */
const MAX_HOPS = 32
/** `[` + the longest IPv6 address + `]:65535`. */
const MAX_ENTRY = 53

/** Finds the address of a client behind proxies. */
export interface ClientAddresses {
  /** True if requests of this peer may name another address: a bound per address must not count such a peer. */
  isProxy(peer: string | undefined): boolean
  /**
   * Address of the client: that of the peer or, where the peer is a trusted proxy, the rightmost entry of
   * `X-Forwarded-For` that is no trusted proxy. An entry that is no address ends the search: the client is then the
   * last proxy before it. '' where the peer has no address (a Unix socket, a connection that is gone).
   */
  of(peer: string | undefined, forwardedFor: string | readonly string[] | undefined): string
}

/** IPv4 addresses mapped into IPv6 in their IPv4 form, so that one client has one name. */
const plain = (address: string) => (/^::ffff:\d/i.test(address) ? address.slice(7) : address)

/** An entry of `X-Forwarded-For` as an address without brackets and port; undefined: it is none. */
function entryOf(text: string): string | undefined {
  if (text.length > MAX_ENTRY) return undefined
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+)(?::\d{1,5})?$/.exec(text)?.[1] ?? text
  return isIP(bare) === 0 || bare.includes('%') ? undefined : plain(bare.toLowerCase())
}

/** `proxies`: networks whose word on `X-Forwarded-For` is taken; with none the header is never read. */
export function createClientAddresses(proxies: readonly EgressRule[]): ClientAddresses {
  const contains = networksOf(proxies)
  const isTrusted = (address: string) => isIP(address) !== 0 && contains(address)
  const isProxy = (peer: string | undefined) => proxies.length > 0 && peer !== undefined && isTrusted(plain(peer))

  return {
    isProxy,
    of(peer = '', forwardedFor) {
      let client = plain(peer)
      if (forwardedFor === undefined || !isProxy(peer)) return client
      const list = typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(',')
      let end = list.length
      for (let hop = 0; hop < MAX_HOPS && end >= 0; hop++) {
        const start = list.lastIndexOf(',', end - 1)
        const entry = entryOf(list.slice(start + 1, end).trim())
        if (entry === undefined) break
        client = entry
        if (!isTrusted(client)) break
        end = start
      }
      return client
    }
  }
}

/** One client as a limit counts it: the address itself, or the first 64 bits of an IPv6 address, written as network. */
export function networkOf(address: string): string {
  const bare = plain(address)
  if (isIPv4(bare) || !bare.includes(':')) return bare
  const [head = '', tail] = bare.toLowerCase().replace(/%.*$/, '').split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0')
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`
}
