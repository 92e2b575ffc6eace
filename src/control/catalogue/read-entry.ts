import type { CatalogueEntry } from '../../domain/catalogue/entry.ts'
import { readServerJson, UnusableEntry } from '../../domain/catalogue/server-json.ts'
import { isObject } from '../../domain/is-object.ts'
import { RegistryEntry } from '../../schemas/registry-entry.ts'
import { createBodyCheck } from '../../validation/validators.ts'

/** An entry of the official registry has at most a few kilobytes. */
const MAX_ENTRY_BYTES = 65_536

/** Member of the registry's own data about an entry */
const OFFICIAL = 'io.modelcontextprotocol.registry/official'

/** Returns the data of the registry about an entry: its status, and if it is the latest version. */
function officialData(item: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const meta = isObject(item._meta) ? item._meta : {}
  return isObject(meta[OFFICIAL]) ? meta[OFFICIAL] : {}
}

/**
 * Returns a function that checks and cleans one item of a registry's answer: a `server.json`, or an object with one as
 * `server`. The function returns undefined for an item that cannot be used, was deleted, or is not the latest version.
 */
export function createEntryReader(): (item: unknown) => CatalogueEntry | undefined {
  const check = createBodyCheck(RegistryEntry)
  return (item) => {
    if (!isObject(item)) return undefined
    const { status, isLatest } = officialData(item)
    if (status === 'deleted' || isLatest === false) return undefined
    const server = isObject(item.server) ? item.server : item
    if (JSON.stringify(server).length > MAX_ENTRY_BYTES || check(server) !== undefined) return undefined
    try {
      return readServerJson(server, status === 'deprecated')
    } catch (error) {
      if (error instanceof UnusableEntry) return undefined
      throw error
    }
  }
}
