/** Names that always mean this machine; IPv6 with and without brackets. */
const names = new Set(['localhost', '127.0.0.1', '::1', '[::1]'])

/** Whether a host name or address, without port, is one of the loopback names (proxy page 2.4). */
export const isLoopback = (host: string): boolean => names.has(host.toLowerCase())
