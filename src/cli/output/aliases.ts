const aliases = new Set(['username', 'allow_list', 'old', 'new'])

/** Removes the aliases of members that the gateway repeats for MCPJungle's client. */
export const withoutAliases = <T extends object>(record: T): T =>
  Object.fromEntries(
    Object.entries(record).filter(
      ([member, value]) => !aliases.has(member) && !(member === 'server' && typeof value === 'object')
    )
  ) as T
