import { execFileSync, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Fixed at 100 on Linux for every architecture that Node.js supports. */
const TICKS_PER_SECOND = 100

/** The process under test runs alone on core 0; load, upstreams and database share core 1. */
const TESTED = '0'
const OTHERS = '1'

const hasTaskset = (() => {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' })
    return availableParallelism() > 1
  } catch {
    return false
  }
})()

/** Returns an upstream's command with a prefix that runs it on the shared core; a child inherits the tested core. */
export const onSharedCore = (command: readonly [string, ...string[]]): readonly [string, ...string[]] =>
  hasTaskset ? ['taskset', '-c', OTHERS, ...command] : command

/** Moves this process and its future children to the shared core. False: not available here. */
export function pinSelf(): boolean {
  if (hasTaskset) execFileSync('taskset', ['-a', '-p', '-c', OTHERS, String(process.pid)], { stdio: 'ignore' })
  return hasTaskset
}

// each running child process adds an exit listener
process.setMaxListeners(0)

export interface ManagedProcess {
  readonly pid: number
  readonly child: ChildProcess
  /** The end of its stderr output. */
  errors(): string
  stop(): Promise<void>
}

export interface StartOptions extends SpawnOptions {
  /** True for the process under test, which gets its core for itself. */
  readonly isTested?: boolean
}

/** Starts a Node.js process of the run; `stop` ends it by its pid. */
export const start = (args: readonly string[], options?: StartOptions): ManagedProcess =>
  startProgram([process.execPath, ...args], options)

/** Starts any program of the run; `stop` ends it by its pid. */
export function startProgram(
  program: readonly string[],
  { isTested = false, ...options }: StartOptions = {}
): ManagedProcess {
  const [command = '', ...rest] = [...(isTested && hasTaskset ? ['taskset', '-c', TESTED] : []), ...program]
  const child = spawn(command, rest, { stdio: ['ignore', 'ignore', 'pipe'], ...options })
  let tail = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-2_000)
  })
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  const ended = once(child, 'exit').finally(() => process.off('exit', killNow))
  const isRunning = () => child.exitCode === null && child.signalCode === null
  return {
    pid: child.pid!,
    child,
    errors: () => tail,
    async stop() {
      if (!isRunning()) return
      child.kill()
      const timer = setTimeout(() => child.kill('SIGKILL'), 3_000)
      await ended
      clearTimeout(timer)
    }
  }
}

/** Returns the CPU time of all threads, with nanosecond precision; undefined without kernel support. */
function scheduledMs(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const times = threads.map((id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]))
    return times.reduce((sum, ns) => sum + ns / 1e6, 0)
  } catch {
    return undefined
  }
}

/** Returns the process's CPU time, user and system, in milliseconds, without its children. */
export function cpuMs(pid: number): number {
  const exact = scheduledMs(pid)
  if (exact !== undefined) return exact
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // the name in parentheses may contain anything; the fields from the third on follow it: 14 and 15 are the times
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_SECOND
}

/** Returns the pid and those of all its descendants. */
export function treeOf(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // it has ended meanwhile
    }
  }
  const tree = [pid]
  // grows while it is read
  for (const each of tree) tree.push(...(children.get(each) ?? []))
  return tree
}

/** Returns resident memory in KiB. */
export function rssKib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
