const pattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Rule of group names in words, for the people who break it (http-contract.md#names). */
export const NAME_RULE = 'must be 1 to 64 letters, digits, "_" or "-" and begin with a letter or digit'

/** Names of groups; they are part of a URL and of nothing that is split. */
export const isName = (name: string): boolean => pattern.test(name)

/** Rule of server names in words, for the people who break it (http-contract.md#names). */
export const SERVER_NAME_RULE =
  'must be 1 to 64 letters, digits, "_" or "-", begin with a letter or digit, hold no "__" and not end in "_"'

/** The first `__` of a qualified name ends the server's name, so a server's name holds none and ends in no `_`. */
export const isServerName = (name: string): boolean => pattern.test(name) && !name.includes('__') && !name.endsWith('_')

/** A qualified name splits at the first `__` (http-contract.md#names). Undefined where there is none. */
export function splitName(qualified: string): { server: string; name: string } | undefined {
  const at = qualified.indexOf('__')
  if (at <= 0) return undefined
  return { server: qualified.slice(0, at), name: qualified.slice(at + 2) }
}
