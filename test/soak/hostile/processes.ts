import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { later } from '../../store.ts'

/** Attackers shall load the gateway, not the machine that both run on; lower, and a busy machine never runs them. */
export const NICE = 7

/** A process of our own at low priority, ended with the run. */
export function start(t: TestContext, file: string, args: readonly string[]): ChildProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: ['--import', import.meta.resolve('tsx')]
  })
  setPriority(child.pid!, NICE)
  later(t, () => child.kill('SIGKILL'))
  return child
}

/** The same, and the URL that it sends once it listens. */
export async function startUpstream(t: TestContext, file: string, args: readonly string[] = []): Promise<string> {
  const [url] = (await once(start(t, file, args), 'message')) as [string]
  return url
}
