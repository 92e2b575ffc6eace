const repeated = new Set(['username', 'allow_list', 'old', 'new'])

/** A record without what the gateway says a second time for MCPJungle's client: it is shown and filed once. */
export const withoutSpellings = <T extends object>(record: T): T =>
  Object.fromEntries(
    Object.entries(record).filter(
      ([member, value]) => !repeated.has(member) && !(member === 'server' && typeof value === 'object')
    )
  ) as T
