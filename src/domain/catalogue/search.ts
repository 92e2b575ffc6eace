/** Entry with the texts that searches look at, in lower case */
export interface SearchText {
  readonly name: string
  readonly title: string
  readonly text: string
}

/** Position in the results of a search: by rank, then by name */
export interface SearchPlace {
  readonly rank: number
  readonly name: string
}

export const toSearchText = ({
  name,
  title = '',
  description
}: {
  name: string
  title?: string
  description: string
}): SearchText => ({
  name: name.toLowerCase(),
  title: title.toLowerCase(),
  text: `${name} ${title} ${description}`.toLowerCase()
})

/** Returns the words of a search; each must occur in an entry. */
export const searchWords = (search: string): string[] =>
  search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')

/** Ranks an entry, best first from 0; undefined if it lacks a word. The own part of a name counts most. */
export function rankOf({ name, title, text }: SearchText, words: readonly string[]): number | undefined {
  if (!words.every((word) => text.includes(word))) return undefined
  const own = name.slice(name.indexOf('/') + 1)
  if (words.length === 0 || own === words.join('-')) return 0
  if (words.every((word) => own.includes(word) || title.includes(word))) return 1
  return words.every((word) => name.includes(word)) ? 2 : 3
}

export const comparePlaces = (a: SearchPlace, b: SearchPlace): number =>
  a.rank - b.rank || (a.name < b.name ? -1 : Number(a.name > b.name))

/** Converts a pattern such as `io.github.owner/*` to a check of names; `*` stands for any characters. */
export function namePattern(pattern: string): (name: string) => boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  const expression = new RegExp(`^${parts.join('[^]*?')}$`)
  return (name) => expression.test(name)
}
