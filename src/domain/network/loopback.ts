/** Names that always mean this machine; IPv6 with and without brackets */
const names = new Set(['localhost', '127.0.0.1', '::1', '[::1]'])

/** Returns true for a loopback name or address, without port (mcp-proxy.md#host-and-origin). */
export const isLoopback = (host: string): boolean => names.has(host.toLowerCase())

const withoutDot = (host: string): string => host.toLowerCase().replace(/\.$/, '')

/** All of 127.0.0.0/8 and of `localhost` (RFC 6761), the unspecified addresses, and IPv4-mapped IPv6 */
const loopbackHost =
  /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|\[::ffff:(?:7f[\da-f]{2}:[\da-f]+|0:0)\])$/

/** Normalises the host of a URL, so that different spellings of this machine are equal. `hostname` as in `URL`. */
export const hostKey = (hostname: string): string => {
  const host = withoutDot(hostname)
  return loopbackHost.test(host) ? 'localhost' : host
}
