import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { readTableNow, signalEntry, treeOf } from './process-table.ts'
import type { ChildIdentity, ProcessEntry, ReadTable } from './process-table.ts'

/** Each step of the ending: after the end of stdin, and after TERM (security-model.md#child-process-isolation). */
const GRACE_MS = 2_000
/** After KILL. */
const KILLED_MS = 1_000
const POLL_MS = 50
/** For what starts others faster than they are ended. */
const MAX_ROUNDS = 20

/** Signals a whole process group; false where nothing of it is left. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const hasExited = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

async function isWithin(ms: number, child: ChildProcess, isDone: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + ms
  const exited = new Promise((resolve) => child.once('exit', resolve))
  while (!(await isDone())) {
    if (performance.now() > end) return false
    await (hasExited(child) ? delay(POLL_MS) : Promise.race([exited, delay(POLL_MS)]))
  }
  return true
}

/** Kills all that these children have started, without waiting for anything: for the moment before our own exit. */
export function killTreesNow(trees: Iterable<ChildIdentity>): void {
  const table = readTableNow()
  for (const child of trees) {
    const members = treeOf(table, child, [])
    signalGroup(child.pid, 'SIGKILL')
    for (const member of members) signalEntry(member, 'SIGKILL')
  }
}

/** What was never read would hold back the end of the stream, so then the pipe is dropped. */
function endInput({ stdin }: ChildProcess): void {
  if (stdin && stdin.writableLength > 0) stdin.destroy()
  else stdin?.end()
}

/**
 * Ends a child and all that it has started, also what left its group and its session; resolves when nothing of it is left,
 * at the latest some six seconds later. `isPatient` false: KILL at once. `read` is shared by all that end at the same moment.
 */
export async function endTree(
  child: ChildProcess,
  belongings: ChildIdentity,
  isPatient: boolean,
  read: ReadTable
): Promise<void> {
  const group = belongings.pid
  let members: readonly ProcessEntry[] = []
  /** False where there is no /proc. */
  const look = async () => {
    const table = await read()
    if (table) members = treeOf(table, belongings, members)
    return table !== null
  }
  // A group of nothing but zombies takes signals too, and stays where no init reaps orphans; hence the second look.
  const isGroupGone = async () => {
    if (!hasExited(child)) return false
    return !signalGroup(group, 0) || ((await look()) && members.length === 0)
  }
  const isAllGone = async () => (await isGroupGone()) && (!(await look()) || members.length === 0)
  const signal = (name: NodeJS.Signals) => {
    signalGroup(group, name)
    for (const member of members) signalEntry(member, name)
  }

  // before the first of them ends: an orphan no longer tells who started it
  await look()
  endInput(child)
  if (isPatient) {
    // only the group is waited for: those that left it have hardly an input that ends
    await isWithin(GRACE_MS, child, isGroupGone)
    if (!(await isAllGone())) {
      signal('SIGTERM')
      await isWithin(GRACE_MS, child, isAllGone)
    }
  }
  for (let round = 0; round < MAX_ROUNDS && !(await isAllGone()); round++) {
    signal('SIGKILL')
    await isWithin(round === 0 ? KILLED_MS : POLL_MS, child, isAllGone)
  }
  child.stdout?.destroy()
  child.stderr?.destroy()
}
