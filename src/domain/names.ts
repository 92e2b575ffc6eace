/** Rule of server names in words, for the people who break it (decisions "Names"). */
export const SERVER_NAME_RULE =
  'must be 1 to 64 letters, digits, "_" or "-", begin with a letter or digit, hold no "__" and not end in "_"'

/** The first `__` of a qualified name ends the server's name, so a server's name holds none and ends in no `_`. */
export const isServerName = (name: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name) && !name.includes('__') && !name.endsWith('_')
