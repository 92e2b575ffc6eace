import { setTimeout as delay } from 'node:timers/promises'
import type { ServerProcess } from './launcher.ts'
import { descendantsOf, readTableNow, signalEntry, treeOf } from './process-table.ts'
import type { ChildIdentity, ProcessEntry, ReadTable } from './process-table.ts'

/** Wait after closing stdin, and after SIGTERM (security-model.md#child-process-isolation). */
const GRACE_MS = 2_000
/** Wait after SIGKILL. */
const KILL_WAIT_MS = 1_000
/** Polled, because processes that the server started send no event when they exit. */
const POLL_MS = 50
/** Limit of SIGKILL rounds, for trees that start processes faster than they are killed. */
const MAX_ROUNDS = 20

/** Signals a whole process group; returns false if the group is gone. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const hasExited = (child: ServerProcess) => child.exitCode !== null || child.signalCode !== null

async function waitUntil(ms: number, child: ServerProcess, isDone: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + ms
  const exited = new Promise<void>((resolve) => child.once('exit', resolve))
  while (!(await isDone())) {
    if (performance.now() > end) return false
    await (hasExited(child) ? delay(POLL_MS) : Promise.race([exited, delay(POLL_MS)]))
  }
  return true
}

/** Kills these children and their descendants without waiting, for the moment before the gateway exits. */
export function killTreesNow(trees: Iterable<ChildIdentity>): void {
  const table = readTableNow()
  for (const child of trees) {
    const members = treeOf(table, child, [])
    signalGroup(child.pid, 'SIGKILL')
    for (const member of members) signalEntry(member, 'SIGKILL')
  }
}

/**
 * Closes stdin behind what was written in this event-loop turn; unread input would delay the end of the stream, so the
 * pipe is then destroyed.
 */
function endInput({ stdin }: ServerProcess): void {
  stdin.uncork()
  if (stdin.writableLength > 0) stdin.destroy()
  else stdin.end()
}

/**
 * Ends a child and all its descendants, including those that left its group or session; resolves when none is left, at
 * the latest some six seconds later. `isPatient` false: SIGKILL at once. `read` is shared by trees that end at the same
 * time.
 */
export async function endTree(
  child: ServerProcess,
  belongings: ChildIdentity,
  isPatient: boolean,
  read: ReadTable
): Promise<void> {
  const group = belongings.pid
  let members: readonly ProcessEntry[] = []
  /** Updates `members`; returns false without /proc. */
  const updateMembers = async () => {
    const table = await read()
    if (table) members = treeOf(table, belongings, members)
    return table !== null
  }
  // a group of zombies still accepts signals, and remains if no init reaps orphans, so the process table is checked too
  const isGroupGone = async () => {
    if (!hasExited(child)) return false
    return !signalGroup(group, 0) || ((await updateMembers()) && members.length === 0)
  }
  const isAllGone = async () => (await isGroupGone()) && (!(await updateMembers()) || members.length === 0)
  const signal = (name: NodeJS.Signals) => {
    signalGroup(group, name)
    for (const member of members) signalEntry(member, name)
  }

  // before any process ends: an orphan no longer shows its ancestors
  const descendants = await descendantsOf(belongings)
  if (descendants) members = descendants
  else await updateMembers()
  endInput(child)
  // wait for the group only: processes outside of it rarely read this stdin
  if (isPatient) await waitUntil(GRACE_MS, child, isGroupGone)
  let isDone = await isAllGone()
  if (isPatient && !isDone) {
    signal('SIGTERM')
    isDone = await waitUntil(GRACE_MS, child, isAllGone)
  }
  for (let round = 0; round < MAX_ROUNDS && !isDone; round++) {
    signal('SIGKILL')
    isDone = await waitUntil(round === 0 ? KILL_WAIT_MS : POLL_MS, child, isAllGone)
  }
  child.stdout.destroy()
  child.stderr.destroy()
}
