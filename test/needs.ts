/**
 * For `test(title, { skip: needs('psql', hasPsql) }, …)`: skips what this machine cannot run, and says why. With CI set
 * what is missing is an error, so that no test is left out there for ever.
 */
export function needs(what: string, isThere: boolean): false | string {
  if (isThere) return false
  if (process.env['CI']) throw new Error(`CI is set, and this machine has no ${what}`)
  return `needs ${what}`
}

export const needsRoot = needs('root', process.getuid?.() === 0)
