import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

export interface ManagedProcess {
  readonly pid: number
  /** Its output on stdout and stderr so far. */
  readonly output: () => string
  /** Resolves with the exit code, or the name of the signal that ended the process. */
  readonly exited: Promise<number | string>
  /** Ends the process by its pid: SIGTERM, and SIGKILL after 10 s. */
  readonly stop: () => Promise<void>
}

const passedOn = ['PATH', 'HOME', 'USER', 'LANG', 'TMPDIR']

/** Starts a child process without any variable of our environment that could configure it. */
export function start(command: string, args: readonly string[], env: Record<string, string> = {}): ManagedProcess {
  const own = Object.fromEntries(passedOn.map((name) => [name, process.env[name]]))
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...own, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const exited = new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code ?? signal ?? 0))
  })
  const stop = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await exited
    clearTimeout(timer)
  }
  return { pid: child.pid ?? 0, output: () => output, exited, stop }
}

/** Waits until `check` returns a value; throws with the process's output if the process ends first or time runs out. */
export async function waitUntilReady<T>(
  { output, exited }: ManagedProcess,
  check: () => T | Promise<T>,
  limitMs = 180_000
): Promise<NonNullable<T>> {
  let hasEnded = false
  void exited.then(() => (hasEnded = true))
  for (const end = performance.now() + limitMs; performance.now() < end && !hasEnded; await delay(25)) {
    const value = await Promise.resolve()
      .then(check)
      .catch(() => undefined)
    if (value) return value
  }
  throw new Error(`${hasEnded ? 'ended before it was ready' : `not ready after ${limitMs / 1000} s`}: ${output()}`)
}
