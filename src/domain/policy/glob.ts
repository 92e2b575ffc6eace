/** Tests a text against a list of exact texts and of prefixes that end with `*`. */
export type Glob = (text: string) => boolean

/** Returns true if the text equals the glob, or begins with it where it ends with `*`. */
export const isLike = (text: string, glob: string): boolean =>
  glob.endsWith('*') ? text.startsWith(glob.slice(0, -1)) : text === glob

const always: Glob = () => true

/** Compiles a list of globs; an absent or empty list matches every text. Comparison is by characters, never folded. */
export function compileGlobs(globs: readonly string[] | undefined): Glob {
  if (globs === undefined || globs.length === 0 || globs.includes('*')) return always
  const exact = new Set(globs.filter((glob) => !glob.endsWith('*')))
  const prefixes = globs.filter((glob) => glob.endsWith('*')).map((glob) => glob.slice(0, -1))
  if (prefixes.length === 0) return (text) => exact.has(text)
  return (text) => exact.has(text) || prefixes.some((prefix) => text.startsWith(prefix))
}
