import { readFileSync } from 'node:fs'
import { PRODUCT } from '../domain/product.ts'

const POLL_MS = 500

/** The script that npm runs is this program alone: `npm start`, `npx towpath start`, or a script of a project of its own. */
const ownScript = new RegExp(String.raw`^(exec )?(node scripts/start\.mjs|(["']?)${PRODUCT}\3)( [^&]*)?$`)

const read = (pid: number, file: 'stat' | 'cmdline') => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

const parentOf = (pid: number) => {
  const stat = read(pid, 'stat')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}
/** npm gives itself its command line as its title. */
const isNpm = (pid: number) => /^npm\b/.test(read(pid, 'cmdline'))

/**
 * Ends this process as SIGTERM does, once the npm that runs it is gone, or the shell between the two: npm passes on
 * SIGTERM and SIGINT to that shell alone, and no other signal to anybody.
 */
export function endWithNpm(env: Readonly<Record<string, string | undefined>>): void {
  if (!ownScript.test(env.npm_lifecycle_script ?? '')) return
  const parent = process.ppid
  const above = isNpm(parent) ? 0 : parentOf(parent)
  const isWatched = above > 0 && isNpm(above)
  const timer = setInterval(() => {
    if (process.ppid === parent && (!isWatched || parentOf(parent) === above)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, POLL_MS).unref()
}
