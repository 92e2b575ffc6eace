import type { Path } from './json.ts'

/** What is wrong with a value, and where. */
export interface Problem {
  readonly path: Path
  readonly message: string
}

/** A path as a key: unlike paths have unlike keys. */
export const placeOf = (path: Path): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** Messages by place; '' is the whole. */
export function byPlace(problems: readonly Problem[]): ReadonlyMap<string, string> {
  const map = new Map<string, string>()
  for (const { path, message } of problems) {
    const place = placeOf(path)
    map.set(place, map.has(place) ? `${map.get(place)}. ${message}` : message)
  }
  return map
}
