import type { CatalogueEntry } from '../../domain/catalogue/entry.ts'
import {
  comparePlaces,
  namePattern,
  rankOf,
  searchWords,
  toSearchText,
  type SearchPlace,
  type SearchText
} from '../../domain/catalogue/search.ts'
import { createTimeSlice } from '../../lib/time-slice.ts'

export interface SearchQuery {
  readonly search: string
  readonly limit: number
  /** Position after which the page begins; undefined for the first page */
  readonly after: SearchPlace | undefined
}

export interface SearchResult {
  readonly entries: readonly CatalogueEntry[]
  /** Number of matching entries on all pages */
  readonly total: number
  /** Position of the last entry; undefined on the last page */
  readonly next: SearchPlace | undefined
}

/** Entries of a catalogue for searches. They are kept as text, which needs a fraction of the memory of objects. */
export interface EntryIndex {
  readonly size: number
  find(name: string): CatalogueEntry | undefined
  search(query: SearchQuery): SearchResult
}

/** Creates an index of JSON texts of entries, with only the entries that a pattern of `allow` admits. */
export async function indexEntries(
  lines: readonly string[],
  allow: readonly string[] | undefined
): Promise<EntryIndex> {
  const patterns = allow?.map(namePattern)
  const texts = new Map<string, string>()
  const rows: (SearchText & { readonly id: string })[] = []
  const slice = createTimeSlice()
  for (const line of lines) {
    const entry = parseEntry(line)
    if (patterns && !patterns.some((matches) => matches(entry.name))) continue
    texts.set(entry.name, line)
    rows.push({ ...toSearchText(entry), id: entry.name })
    if (slice.isOver) await slice.next()
  }
  return {
    size: rows.length,
    find(name) {
      const text = texts.get(name)
      return text === undefined ? undefined : parseEntry(text)
    },
    search({ search, limit, after }) {
      const words = searchWords(search)
      const places = rows.flatMap((row): SearchPlace[] => {
        const rank = rankOf(row, words)
        return rank === undefined ? [] : [{ rank, name: row.id }]
      })
      places.sort(comparePlaces)
      const rest = after ? places.filter((place) => comparePlaces(place, after) > 0) : places
      const page = rest.slice(0, limit)
      return {
        entries: page.map(({ name }) => parseEntry(texts.get(name)!)),
        total: places.length,
        next: rest.length > limit ? page.at(-1) : undefined
      }
    }
  }
}

const parseEntry = (text: string) => JSON.parse(text) as CatalogueEntry
