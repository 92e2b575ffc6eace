export const states = ['all', 'enabled', 'disabled', 'flagged'] as const
export type State = (typeof states)[number]

/** Filter of the list, kept in the URL. */
export interface ToolFilter {
  readonly q: string
  /** Server name; '' for all. */
  readonly server: string
  readonly state: State
}

const isState = (text: string): text is State => (states as readonly string[]).includes(text)

export function filterFrom(query: URLSearchParams): ToolFilter {
  const state = query.get('state') ?? ''
  return { q: query.get('q') ?? '', server: query.get('server') ?? '', state: isState(state) ? state : 'all' }
}

/** Returns the query members of a filter; defaults are omitted. */
export function filterQuery({ q, server, state }: ToolFilter): Record<string, string> {
  return { ...(server && { server }), ...(q.trim() && { q }), ...(state === 'all' ? {} : { state }) }
}

/** Splits a search text into words; all must match, in any order. */
export const wordsOf = (q: string): readonly string[] => q.toLowerCase().split(/\s+/).filter(Boolean)

export const matches = (text: string, words: readonly string[]): boolean => {
  if (words.length === 0) return true
  const lower = text.toLowerCase()
  return words.every((word) => lower.includes(word))
}
