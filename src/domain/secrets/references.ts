import { isStringArray } from '../is-object.ts'
import { maskUrl, replaceSecrets, secretMaps, secretMembers } from './secret-parts.ts'

/** Allocator of variable names for values that are not written to a file */
export interface References {
  /** Allocates a name for the value at this place and returns `${NAME}`. */
  refer(...place: readonly string[]): string
  /** Allocates a unique name for the value at this place. */
  name(...place: readonly string[]): string
  /** Returns all allocated names. */
  names(): readonly string[]
}

export function createReferences(): References {
  const used = new Set<string>()
  const name = (...place: readonly string[]): string => {
    const preferred = place
      .join('_')
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, '_')
    let free = preferred
    for (let count = 2; used.has(free); count++) free = `${preferred}_${count}`
    used.add(free)
    return free
  }
  return { name, refer: (...place) => `\${${name(...place)}}`, names: () => [...used] }
}

const hasPlaceholder = (text: string) => /\$\{[A-Za-z_][A-Za-z0-9_]*\}/.test(text)

/**
 * Returns a record of any kind as it is written to a file: secrets become references, and so does any text that would
 * be parsed as a reference when the file is read.
 */
export function replaceByReferences(
  kind: string,
  { name, ...config }: Readonly<Record<string, unknown>> & { readonly name: string },
  references: References,
  keepSecrets = false
): Record<string, unknown> {
  const write = (value: unknown, isSecret: boolean, place: readonly string[]): unknown => {
    if (typeof value === 'string')
      return hasPlaceholder(value) || (isSecret && !keepSecrets) ? references.refer(kind, ...place) : value
    if (Array.isArray(value)) return value.map((item, index) => write(item, isSecret, [...place, String(index)]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, write(item, isSecret, [...place, key])]))
  }
  const writeArguments = (args: readonly string[], place: readonly string[]): string[] => {
    const bare = replaceSecrets(args, () => '')
    return args.map((arg, index) => {
      const start = bare[index]!
      const own = [...place, String(index)]
      if (start === arg || keepSecrets || hasPlaceholder(start)) return write(arg, false, own) as string
      return `${start}${references.refer(kind, ...own)}`
    })
  }
  const members = Object.entries(config).map(([member, value]) => {
    const place = [name, member]
    if (member === 'args' && isStringArray(value)) return [member, writeArguments(value, place)]
    const isKeyed = member === 'url' && typeof value === 'string' && maskUrl(value) !== value
    return [member, write(value, isKeyed || secretMembers.has(member) || secretMaps.has(member), place)]
  })
  return { name, ...(Object.fromEntries(members) as object) }
}
