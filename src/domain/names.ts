const pattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Rule of group names for error messages (http-contract.md#names) */
export const NAME_RULE = 'must be 1 to 64 letters, digits, "_" or "-" and begin with a letter or digit'

/** Tests for a valid group name. Group names are part of a URL and are never split. */
export const isName = (name: string): boolean => pattern.test(name)

/** Rule of server names for error messages (http-contract.md#names) */
export const SERVER_NAME_RULE =
  'must be 1 to 64 letters, digits, "_" or "-", begin with a letter or digit, not contain "__" and not end in "_"'

/**
 * Tests for a valid server name. The first `__` of a qualified name ends the server name, so a server name contains no
 * `__` and does not end in `_`.
 */
export const isServerName = (name: string): boolean => pattern.test(name) && !name.includes('__') && !name.endsWith('_')

/** Returns the qualified name of an item (http-contract.md#names). */
export const qualifiedName = (server: string, name: string): string => `${server}__${name}`

/** Splits a qualified name at the first `__` (http-contract.md#names); undefined if there is none. */
export function splitName(qualified: string): { server: string; name: string } | undefined {
  const at = qualified.indexOf('__')
  if (at <= 0) return undefined
  return { server: qualified.slice(0, at), name: qualified.slice(at + 2) }
}

/** Returns the nearest valid server name (http-contract.md#names); `server` if nothing is left. */
export function toServerName(text: string): string {
  const name = text
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/_{2,}/g, '_')
    .replace(/^[_-]+/, '')
    .slice(0, 64)
    .replace(/[_-]+$/, '')
  return name === '' ? 'server' : name
}

/** Converts a text to a valid variable name. */
export function toVariableName(text: string): string {
  const name = text.toUpperCase().replace(/[^A-Z0-9]+/g, '_')
  return /^[A-Z_]/.test(name) ? name : `_${name}`
}
