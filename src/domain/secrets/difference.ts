import { isDeepStrictEqual } from 'node:util'
import { isObject, isStringArray } from '../is-object.ts'
import { MASK, maskArguments, maskUrl, secretMaps, secretMembers } from './secret-parts.ts'
import { truncate } from '../text/text.ts'

export type Members = Readonly<Record<string, unknown>>

/**
 * Members changed by a write, without secrets and truncated, suitable for storing and displaying
 * (security-model.md#audit)
 */
export interface Difference {
  readonly changed: readonly string[]
  readonly before: Members
  readonly after: Members
}

const MAX_TEXT = 200
const MAX_ENTRIES = 200

/** URLs, whose queries may contain keys */
const urls = new Set(['url', 'oauth_redirect_uri'])

/** UTF-16 units of equal text kept before the first difference */
const MAX_EQUAL = 40

/** Truncates two texts at the start, so that their difference is among the first characters. */
export function differingParts(before: string, after: string): readonly [before: string, after: string] {
  let at = 0
  while (at < before.length && before[at] === after[at]) at++
  const from = Math.max(0, at - MAX_EQUAL)
  const part = (text: string) => (from === 0 ? text : `…${text.slice(from).replace(/^[\udc00-\udfff]/, '')}`)
  return [part(before), part(after)]
}

/**
 * Compares members; absent and null are equal. Maps are reduced to the differing entries; texts, lists and maps are
 * truncated.
 */
export function difference(before: Members = {}, after: Members = {}): Difference {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names.filter(
    (name) => !isDeepStrictEqual(ownMember(before, name) ?? null, ownMember(after, name) ?? null)
  )
  return { changed, before: toSafeMembers(changed, before, after), after: toSafeMembers(changed, after, before) }
}

const ownMember = (members: Members, name: string): unknown =>
  Object.hasOwn(members, name) ? members[name] : undefined

const toSafeMembers = (changed: readonly string[], members: Members, other: Members): Members =>
  Object.fromEntries(
    changed
      .filter((name) => (ownMember(members, name) ?? null) !== null)
      .map((name) => [name, toSafeValue(name, members[name], ownMember(other, name))])
  )

function toSafeValue(name: string, value: unknown, other: unknown): unknown {
  if (secretMembers.has(name)) return MASK
  if (isObject(value)) return toSafeMap(value, isObject(other) ? other : {}, secretMaps.has(name))
  if (name === 'args' && isStringArray(value)) return toSafeValue('', maskArguments(value), other)
  if (Array.isArray(value)) return limitEntries(value.map(truncateText), value.length, (rest) => rest)
  return truncateText(urls.has(name) && typeof value === 'string' ? maskUrl(value) : value)
}

function toSafeMap(map: Members, other: Members, isSecret: boolean): Members {
  const entries = Object.entries(map).filter(([key, value]) => !isDeepStrictEqual(value, ownMember(other, key)))
  const cutEntries = entries.map(([key, value]): [string, unknown] => [
    truncateText(key),
    isSecret ? MASK : truncateText(value)
  ])
  return Object.fromEntries(limitEntries(cutEntries, entries.length, (rest) => ['…', rest]))
}

const truncateText = <T>(value: T): T => (typeof value === 'string' ? (truncate(value, MAX_TEXT) as T) : value)

const limitEntries = <T>(list: T[], length: number, toEntry: (rest: string) => T): T[] =>
  length <= MAX_ENTRIES ? list : [...list.slice(0, MAX_ENTRIES), toEntry(`${length - MAX_ENTRIES} more`)]
