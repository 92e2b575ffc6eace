import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

/** Rule of the egress settings for one host name or one network */
export type EgressRule =
  | { readonly kind: 'host'; readonly name: string }
  | { readonly kind: 'network'; readonly address: string; readonly prefix: number }

export interface EgressRules {
  readonly deny: readonly EgressRule[]
  /** Exceptions to `deny` and to the default denials */
  readonly allow: readonly EgressRule[]
}

/**
 * Policy for outbound connections. A host rule decides for its name whatever address that resolves to; otherwise the
 * address decides.
 */
export interface EgressPolicy {
  /** Returns the rules' decision for a host name or address in a URL; undefined if its resolved addresses decide. */
  checkHost(host: string): 'allowed' | 'denied' | undefined
  /** Checks an address in any form that a resolver or a URL parser returns; anything else is denied. */
  isDenied(address: string): boolean
  /** Returns true if an `allow` rule matches the address. */
  isAllowed(address: string): boolean
}

const network = (text: string): EgressRule => {
  const [address, prefix] = text.split('/') as [string, string]
  return { kind: 'network', address, prefix: Number(prefix) }
}

const keywords: Readonly<Record<string, readonly EgressRule[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'].map(network),
  // includes carrier-grade NAT, unique local and the former site-local addresses
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7', 'fec0::/10'].map(network)
}

/**
 * Networks denied by default because no upstream is in them: unspecified, link-local, cloud metadata, multicast and
 * broadcast addresses
 */
const deniedByDefault: readonly EgressRule[] = [
  ...['0.0.0.0/8', '::/128'], // unspecified: reaches this machine
  ...['169.254.0.0/16', 'fe80::/10'], // link-local, used by most clouds for metadata
  ...['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32', 'fd00:ec2::254/128', 'fd20:ce::254/128'], // others
  ...['224.0.0.0/4', 'ff00::/8', '255.255.255.255/32'] // multicast, broadcast
].map(network)

/** Returns the 16 bytes of an IPv6 address. */
function bytesOf(address: string): number[] {
  const dotted = /(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const [, front = address, ...tail] = dotted ?? []
  const hex = (i: number) => Number(tail[i]).toString(16).padStart(2, '0')
  const text = dotted ? `${front}${hex(0)}${hex(1)}:${hex(2)}${hex(3)}` : address
  const [before = '', after] = text.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const [head, end] = [groups(before), groups(after ?? '')]
  const all = [...head, ...new Array<number>(8 - head.length - end.length).fill(0), ...end]
  return all.flatMap((group) => [group >> 8, group & 255])
}

const startsWith = (bytes: readonly number[], ...start: readonly number[]) =>
  start.every((byte, i) => bytes[i] === byte)
const zeros = (count: number) => new Array<number>(count).fill(0)

/** Returns the IPv4 addresses embedded in an IPv6 address; `isSame` if it is only another notation for one. */
function embeddedIPv4(bytes: readonly number[]): { readonly inner: readonly string[]; readonly isSame: boolean } {
  const at = (...places: readonly number[]) => places.map((place) => bytes[place]).join('.')
  const last = at(12, 13, 14, 15)
  const isMapped = startsWith(bytes, ...zeros(10), 255, 255) || startsWith(bytes, ...zeros(8), 255, 255, 0, 0)
  const isCompatible = startsWith(bytes, ...zeros(12)) && !/^0\.0\.0\.[01]$/.test(last)
  if (isMapped || isCompatible) return { inner: [last], isSame: true }
  const found = () => {
    if (startsWith(bytes, 0, 0x64, 0xff, 0x9b, ...zeros(8))) return [last] // NAT64
    if (startsWith(bytes, 0x20, 0x02)) return [at(2, 3, 4, 5)] // 6to4
    // Teredo: the client's address is stored inverted
    if (startsWith(bytes, 0x20, 0x01, 0, 0))
      return [
        bytes
          .slice(12)
          .map((byte) => byte ^ 255)
          .join('.')
      ]
    if (!startsWith(bytes, 0, 0x64, 0xff, 0x9b, 0, 1)) return []
    // local-use NAT64: the position of the address depends on a prefix that only the network knows (RFC 6052, 2.2)
    const places = [at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), last]
    return places.filter((inner) => !inner.startsWith('0.'))
  }
  return { inner: found(), isSame: false }
}

/** Returns all addresses that a connection to this one may reach; empty if it is not an address. */
export function reachableAddresses(address: string): readonly string[] {
  const plain = address.replace(/%.*$/s, '')
  if (isIPv4(plain)) return [plain]
  if (!isIPv6(plain)) return []
  const { inner, isSame } = embeddedIPv4(bytesOf(plain))
  return isSame ? inner : [plain, ...inner]
}

const withoutBrackets = (host: string) => host.replace(/^\[(.*)\]$/s, '$1')

/**
 * Normalises a host for comparison: lower case, punycode, IPv4 in four decimal parts, IPv6 without brackets and zone.
 */
function normaliseHost(text: string): string | undefined {
  const url = `http://${isIPv6(text) ? `[${text}]` : text}/`
  return URL.canParse(url) ? withoutBrackets(new URL(url).hostname).replace(/\.$/, '') : undefined
}

function networkRule(address: string, prefix: number): EgressRule | undefined {
  const bits = isIPv4(address) ? 32 : 128
  if (isIP(address) === 0 || prefix > bits) return undefined
  // IPv4-mapped networks are compared as IPv4.
  const [reading, ...others] = reachableAddresses(address)
  const isMapped = bits === 128 && others.length === 0 && isIPv4(reading!) && prefix >= 96
  return isMapped ? { kind: 'network', address: reading!, prefix: prefix - 96 } : { kind: 'network', address, prefix }
}

/**
 * Parses an entry of the settings: a keyword, a network in CIDR notation, an address or a host name; undefined if it is
 * none of these.
 */
export function parseEgressEntry(entry: string): readonly EgressRule[] | undefined {
  const word = entry.toLowerCase()
  if (Object.hasOwn(keywords, word)) return keywords[word]
  const cidr = /^(.+)\/(\d{1,3})$/.exec(entry)
  if (cidr) {
    const rule = networkRule(withoutBrackets(cidr[1]!), Number(cidr[2]))
    return rule && [rule]
  }
  const isHost = isIPv6(withoutBrackets(entry)) || /^[^\s/@?#*\\:[\]]+$/.test(entry)
  const name = isHost ? normaliseHost(entry) : undefined
  if (!name) return undefined
  if (isIP(name) === 0) return [{ kind: 'host', name }]
  return [networkRule(name, isIPv4(name) ? 32 : 128)!]
}

/** Address zones, outermost first; a server in a zone may only point to addresses of that zone or of an outer one */
const zones = ['public', 'private', 'loopback'] as const
export type AddressZone = (typeof zones)[number]

/** Returns a function that determines the innermost zone an address may reach; invalid addresses count as loopback. */
export function createZoneLookup(): (address: string) => AddressZone {
  const [isLoopback, isPrivate] = [createNetworkTest(keywords.loopback!), createNetworkTest(keywords.private!)]
  return (address) => {
    const readings = reachableAddresses(address)
    if (readings.length === 0 || readings.some(isLoopback)) return 'loopback'
    return readings.some(isPrivate) ? 'private' : 'public'
  }
}

/** Returns true if the first zone is further inside than the second. */
export const isFurtherInside = (first: AddressZone, second: AddressZone): boolean =>
  zones.indexOf(first) > zones.indexOf(second)

/** Returns a function that tests if an address is in one of the rules' networks; other rules are ignored. */
export function createNetworkTest(rules: readonly EgressRule[]): (address: string) => boolean {
  const list = new BlockList()
  const family = (address: string) => (isIPv4(address) ? 'ipv4' : 'ipv6')
  for (const rule of rules) {
    if (rule.kind === 'network') list.addSubnet(rule.address, rule.prefix, family(rule.address))
  }
  return (address) => list.check(address, family(address))
}

const hostsOf = (rules: readonly EgressRule[]) =>
  new Set(rules.flatMap((rule) => (rule.kind === 'host' ? [rule.name] : [])))

/**
 * Creates the egress policy (security-model.md#egress-policy): metadata services and the like are denied by default,
 * loopback and private networks are not.
 */
export function createEgressPolicy({ deny, allow }: EgressRules): EgressPolicy {
  const [deniedHosts, allowedHosts] = [hostsOf(deny), hostsOf(allow)]
  const [inDenied, inAllowed] = [createNetworkTest([...deniedByDefault, ...deny]), createNetworkTest(allow)]
  const isDenied = (address: string) => {
    const readings = reachableAddresses(address)
    return readings.length === 0 || readings.some((reading) => inDenied(reading) && !inAllowed(reading))
  }
  return {
    checkHost(given) {
      const host = normaliseHost(given) ?? given
      if (allowedHosts.has(host)) return 'allowed'
      if (deniedHosts.has(host)) return 'denied'
      return isIP(host) !== 0 && isDenied(host) ? 'denied' : undefined
    },
    isDenied,
    isAllowed: (address) => {
      const readings = reachableAddresses(address)
      return readings.length > 0 && readings.every(inAllowed)
    }
  }
}
