import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { addCleanup } from '../../store.ts'

/**
 * Low priority, so that attackers load the gateway rather than the shared machine; an even lower one would starve them
 * on a busy machine.
 */
export const NICE = 7

/**
 * Command prefix for the same priority. Linux may give each session the same share of the time, whatever the priority of
 * its processes (autogroup), and each stdio server has a session of its own: so its session gets the priority too.
 */
export const niceCommand: readonly string[] = [
  '/bin/sh',
  '-c',
  `echo ${NICE} 2>/dev/null >/proc/self/autogroup; exec nice -n ${NICE} "$0" "$@"`
]

/** Starts a process at low priority, ended with the run. */
export function start(t: TestContext, file: string, args: readonly string[]): ChildProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: ['--import', import.meta.resolve('tsx')]
  })
  setPriority(child.pid!, NICE)
  addCleanup(t, () => child.kill('SIGKILL'))
  return child
}

/** Starts a process at low priority. Resolves with the URL that it sends once it listens. */
export async function startUpstream(t: TestContext, file: string, args: readonly string[] = []): Promise<string> {
  const [url] = (await once(start(t, file, args), 'message')) as [string]
  return url
}
