import type { Path } from './json.ts'

/** Validation error at a path. */
export interface Problem {
  readonly path: Path
  readonly message: string
}

/** Returns a path as a unique key (JSON pointer). */
export const placeOf = (path: Path): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** Returns messages by place; '' is the whole value. */
export function byPlace(problems: readonly Problem[]): ReadonlyMap<string, string> {
  const map = new Map<string, string>()
  for (const { path, message } of problems) {
    const place = placeOf(path)
    map.set(place, map.has(place) ? `${map.get(place)}. ${message}` : message)
  }
  return map
}
