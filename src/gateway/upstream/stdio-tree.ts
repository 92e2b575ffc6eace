import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

/** Each step of the ending: after the end of stdin, and after TERM (security page 7.3). */
const GRACE_MS = 2_000
const POLL_MS = 50

/** Signals a whole process group; false where nothing of it is left. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const hasExited = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

const isGone = (child: ChildProcess) => hasExited(child) && !signalGroup(child.pid!, 0)

async function isGoneWithin(child: ChildProcess, ms: number): Promise<boolean> {
  const end = performance.now() + ms
  const exited = new Promise((resolve) => child.once('exit', resolve))
  while (!isGone(child)) {
    if (performance.now() > end) return false
    await (hasExited(child) ? delay(POLL_MS) : Promise.race([exited, delay(POLL_MS)]))
  }
  return true
}

/** Session of a process from its `stat` line; undefined for a zombie, which nobody can end. Names may hold `)`. */
function sessionOf(stat: string): number | undefined {
  const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return state === 'Z' || state === 'X' ? undefined : Number(session)
}

const isProcess = (name: string) => /^\d+$/.test(name)

/** The living processes of every session. Empty where there is no /proc: then the group signals are all there is. */
export async function readSessions(): Promise<Map<number, number[]>> {
  const sessions = new Map<number, number[]>()
  for (const name of (await readdir('/proc').catch(() => [])).filter(isProcess)) {
    const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => null)
    const session = stat === null ? undefined : sessionOf(stat)
    if (session !== undefined) sessions.set(session, [...(sessions.get(session) ?? []), Number(name)])
  }
  return sessions
}

const kill = (pid: number) => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it went by itself
  }
}

/** Kills every process of these sessions at once, without waiting for anything: for the moment before our own exit. */
export function killSessionsNow(sessions: ReadonlySet<number>): void {
  for (const session of sessions) signalGroup(session, 'SIGKILL')
  try {
    for (const name of readdirSync('/proc').filter(isProcess)) {
      const session = sessionOf(readFileSync(`/proc/${name}/stat`, 'latin1'))
      if (session !== undefined && sessions.has(session)) kill(Number(name))
    }
  } catch {
    // no /proc, or a process that went while we looked: the groups are killed already
  }
}

/** Kills what left the group but not the session. `read` is shared by all that end at the same moment. */
async function sweep(session: number, read: typeof readSessions): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const left = (await read()).get(session)
    if (!left) return
    left.forEach(kill)
  }
}

/** What was never read would hold back the end of the stream, so then the pipe is dropped. */
function endInput({ stdin }: ChildProcess): void {
  if (stdin && stdin.writableLength > 0) stdin.destroy()
  else stdin?.end()
}

/**
 * Ends a child and all of its session; resolves when nothing of it is left, at the latest some six seconds later.
 * `isPatient` false: KILL at once.
 */
export async function endTree(child: ChildProcess, isPatient: boolean, read: typeof readSessions): Promise<void> {
  const group = child.pid!
  endInput(child)
  const hasEnded =
    isPatient &&
    ((await isGoneWithin(child, GRACE_MS)) || (signalGroup(group, 'SIGTERM') && (await isGoneWithin(child, GRACE_MS))))
  if (!hasEnded) {
    signalGroup(group, 'SIGKILL')
    await isGoneWithin(child, 1_000)
  }
  await sweep(group, read)
  child.stdout?.destroy()
  child.stderr?.destroy()
}
