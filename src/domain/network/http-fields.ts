/** Tests for an RFC 9110 token. */
export const isHeaderName = (name: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)

/** Tests for an RFC 9110 field value: visible characters, spaces and tabs in between, bytes of ISO 8859-1. */
export const isHeaderValue = (value: string): boolean =>
  /^[\t\x20-\x7e\x80-\xff]*$/.test(value) && value.trim() === value

const reservedHeaders = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
])

/**
 * Returns true for headers that the connection and the protocol set themselves; a registration must not set them
 * (security-model.md#registration-input).
 */
export const isReservedHeader = (name: string): boolean => {
  const lower = name.toLowerCase()
  return reservedHeaders.has(lower) || lower.startsWith('mcp-')
}
