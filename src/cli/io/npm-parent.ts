import { readFileSync } from 'node:fs'
import { PRODUCT } from '../../domain/product.ts'

const POLL_MS = 500

/** npm scripts that run only this program: `npm start`, `npx towpath start`, or a script of a user's project. */
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
/** True for npm, which sets its command line as its process title. */
const isNpm = (pid: number) => /^npm\b/.test(read(pid, 'cmdline'))

/**
 * Sends this process SIGTERM once the npm that runs it, or the shell between them, has exited: npm forwards SIGTERM and
 * SIGINT to that shell only, and no other signals.
 */
export function exitWithNpm(env: Readonly<Record<string, string | undefined>>): void {
  if (!ownScript.test(env.npm_lifecycle_script ?? '')) return
  const parent = process.ppid
  const grandparent = isNpm(parent) ? 0 : parentOf(parent)
  const isWatched = grandparent > 0 && isNpm(grandparent)
  const timer = setInterval(() => {
    if (process.ppid === parent && (!isWatched || parentOf(parent) === grandparent)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, POLL_MS).unref()
}
