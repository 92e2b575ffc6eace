import type { CatalogueEntry } from '../../domain/catalogue/entry.ts'
import { RegistryPage } from '../../schemas/registry-entry.ts'
import { createBodyCheck } from '../../validation/validators.ts'
import { createEntryReader } from './read-entry.ts'

/** Answer of a registry; `body` is null if it is not a JSON object. */
export interface RegistryAnswer {
  readonly status: number
  readonly body: unknown
}

export interface RegistryReading {
  readonly entries: readonly CatalogueEntry[]
  /** Number of items that were not used: invalid, deleted, outdated, repeated or past a limit */
  readonly leftOut: number
}

/** Failure of a registry; the message contains no text of the registry. */
export class RegistryFailure extends Error {}

/** Several times the contents of the official registry */
const MAX_ENTRIES = 30_000
const MAX_PAGES = 1_000
const MAX_TOTAL_LENGTH = 67_108_864
const PAGE_SIZE = 100

function pageUrl(base: string, cursor: string | undefined): string {
  const url = new URL(`${base}/v0.1/servers`)
  url.searchParams.set('limit', String(PAGE_SIZE))
  url.searchParams.set('version', 'latest')
  if (cursor !== undefined) url.searchParams.set('cursor', cursor)
  return url.href
}

/**
 * Reads all pages of an MCP registry. `base`: its URL without the path of the API. Rejects with RegistryFailure, or with
 * the error of `get`. A name that occurs twice keeps its first entry.
 */
export async function readRegistry(
  base: string,
  get: (url: string) => Promise<RegistryAnswer>
): Promise<RegistryReading> {
  const read = createEntryReader()
  const checkPage = createBodyCheck(RegistryPage)
  const entries = new Map<string, CatalogueEntry>()
  const cursors = new Set<string>()
  let [seen, length, cursor]: [number, number, string | undefined] = [0, 0, undefined]
  for (let page = 0; page < MAX_PAGES; page++) {
    const { status, body } = await get(pageUrl(base, cursor))
    if (status !== 200) throw new RegistryFailure(`it answered with status ${status}`)
    if (checkPage(body) !== undefined) throw new RegistryFailure('its answer is not a list of servers')
    const { servers, metadata } = body as RegistryPage
    for (const item of servers) {
      const entry = read(item)
      seen++
      if (!entry || entries.has(entry.name)) continue
      length += JSON.stringify(entry).length
      if (entries.size < MAX_ENTRIES && length <= MAX_TOTAL_LENGTH) entries.set(entry.name, entry)
    }
    cursor = metadata?.nextCursor || undefined
    const isFull = entries.size >= MAX_ENTRIES || length > MAX_TOTAL_LENGTH
    if (cursor === undefined || isFull) return finish(entries, seen)
    if (cursors.has(cursor)) throw new RegistryFailure('it repeats a page')
    cursors.add(cursor)
  }
  throw new RegistryFailure(`it has more than ${MAX_PAGES} pages`)
}

function finish(entries: ReadonlyMap<string, CatalogueEntry>, seen: number): RegistryReading {
  if (seen > 0 && entries.size === 0) throw new RegistryFailure('none of its servers can be used')
  return { entries: [...entries.values()], leftOut: seen - entries.size }
}
