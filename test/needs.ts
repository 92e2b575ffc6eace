/**
 * For `test(title, { skip: needs('psql', hasPsql) }, …)`: skips a test that this machine cannot run, with the reason.
 * With CI set a missing program is an error, so that no test is skipped there unnoticed.
 */
export function needs(what: string, isThere: boolean): false | string {
  if (isThere) return false
  if (process.env['CI']) throw new Error(`CI is set, and this machine has no ${what}`)
  return `needs ${what}`
}

export const needsRoot = needs('root', process.getuid?.() === 0)
