import { randomUUID } from 'node:crypto'
import { readFile, rename, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createAtomically, hasCode, readIfExists, unlinkIfExists } from './files.ts'
import { StartupError } from '../../lib/startup-error.ts'

const BEAT_MS = 2_000
const STALE_AFTER_MS = 15_000
/**
 * Time for a process of this machine that has stopped updating the lock to exit: after `kill -9` the kernel takes some
 * time to end it
 */
const EXIT_GRACE_MS = 5_000
const POLL_MS = 50

interface Owner {
  readonly nonce: string
  readonly pid: number
  readonly host: string
}

export interface Lock {
  release(): Promise<void>
}

/**
 * Locks the data directory for this process: a second PGlite on it would lose rows without an error. Throws
 * StartupError if another process holds the lock, after waiting for its next heartbeat. Calls `onLost` if another
 * process takes the lock; all writes must then stop at once.
 */
export async function acquireLock(dataDir: string, onLost: () => void): Promise<Lock> {
  const path = join(dataDir, 'lock')
  const own: Owner = { nonce: randomUUID(), pid: process.pid, host: hostname() }
  while (!(await createAtomically(path, JSON.stringify(own)))) {
    const owner = await readOwner(path)
    const outcome = owner ? await waitForOwner(path, owner) : 'changed'
    if (outcome === 'held') {
      throw new StartupError(
        `data directory ${dataDir} is in use by process ${owner!.pid} on ${owner!.host}; if that process is not a gateway, remove ${path}`
      )
    }
    if (outcome === 'stale') await removeStaleLock(path, owner!)
  }
  let isReleased = false
  const reportLoss = () => {
    // a renewal that began before the release finds no lock after it
    if (!isReleased) onLost()
  }
  const beat = setInterval(() => void renewLock(path, own, reportLoss), BEAT_MS).unref()
  return {
    async release() {
      isReleased = true
      clearInterval(beat)
      if (await isOwner(path, own)) await unlinkIfExists(path)
    }
  }
}

async function renewLock(path: string, own: Owner, onLost: () => void): Promise<void> {
  try {
    if (!(await isOwner(path, own))) return onLost()
    const now = new Date()
    await utimes(path, now, now)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) onLost()
  }
}

const isOwner = async (path: string, own: Owner) => (await readOwner(path))?.nonce === own.nonce

async function readOwner(path: string): Promise<Owner | undefined> {
  const text = await readIfExists(path)
  if (text === undefined) return undefined
  try {
    const owner = JSON.parse(text) as Owner | null
    if (typeof owner?.nonce === 'string') return owner
  } catch {
    // Falls through: lock files are created whole, so the gateway did not write this one and no process updates it.
  }
  return { nonce: '', pid: 0, host: 'an unknown host' }
}

/**
 * Waits for an owner that may be exiting, or whose clock may differ from this machine's. Returns `held` once it updates
 * the lock or if it stays alive, and `changed` if the lock has another owner or is gone.
 */
async function waitForOwner(path: string, owner: Owner): Promise<'stale' | 'held' | 'changed'> {
  const isHere = owner.host === hostname()
  const firstBeat = await lastBeat(path)
  const end = performance.now() + (isHere && owner.pid === process.pid ? 0 : EXIT_GRACE_MS)
  for (;;) {
    if (!(await isOwner(path, owner))) return 'changed'
    const beat = await lastBeat(path)
    // the owner may have given the folder away since
    if (beat === 0) return 'changed'
    const looksStale = await isStale(owner, beat)
    // on another host only a silence that this process has watched counts: clocks may differ, or jump
    if (looksStale && isHere) return 'stale'
    if (beat !== firstBeat || (!looksStale && !isHere)) return 'held'
    if (performance.now() >= end) return looksStale ? 'stale' : 'held'
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

async function isStale(owner: Owner, beat: number): Promise<boolean> {
  if (owner.host !== hostname()) return Date.now() - beat > STALE_AFTER_MS
  // After a restart of the machine or container, the pid may belong to another process, which started after the last
  // heartbeat.
  return !(await isAlive(owner.pid)) || beat < (await startTimeOf(owner.pid))
}

/** Clock ticks per second in /proc/<pid>/stat, the same on every Linux platform that Node.js supports */
const TICKS_PER_SECOND = 100
/** Margin, since the boot time is given in whole seconds */
const START_ERROR_MS = 2_000

const STATE_FIELD = 0
const START_FIELD = 19

/**
 * Returns the fields of /proc/<pid>/stat from the third on; the second is a name in parentheses that may contain
 * anything.
 */
async function readProcStat(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

/**
 * Returns the earliest possible start of a process, in milliseconds since 1970; 0 if the system does not provide it.
 */
async function startTimeOf(pid: number): Promise<number> {
  if (pid === process.pid) return Date.now() - process.uptime() * 1000
  if (process.platform !== 'linux') return 0
  try {
    const [fields, machine] = await Promise.all([readProcStat(pid), readFile('/proc/stat', 'latin1')])
    const ticks = Number(fields[START_FIELD])
    const boot = Number(/^btime (\d+)$/m.exec(machine)?.[1])
    const start = boot * 1000 + (ticks / TICKS_PER_SECOND) * 1000 - START_ERROR_MS
    return Number.isFinite(start) ? start : 0
  } catch {
    return 0
  }
}

/** Returns the time of the last heartbeat, in milliseconds since 1970; 0 if there is no lock. */
async function lastBeat(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0
    throw error
  }
}

/** Returns true if the process is running. A zombie has ended, but its parent has not collected its exit status yet. */
async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (!hasCode(error, 'EPERM')) return false
  }
  if (process.platform !== 'linux') return true
  try {
    return !/^[ZX]/i.test((await readProcStat(pid))[STATE_FIELD] ?? '')
  } catch {
    // Hidden (hidepid) or just gone; the next check will tell.
    return true
  }
}

/**
 * Removes a stale lock. If two processes try, the later one may move the first one's new lock; that lock is then
 * restored.
 */
async function removeStaleLock(path: string, stale: Owner): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    await rename(path, aside)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  const moved = await readIfExists(aside)
  const movedOwner = await readOwner(aside)
  if (moved !== undefined && movedOwner?.nonce !== stale.nonce) await createAtomically(path, moved)
  await unlinkIfExists(aside)
}
