import { randomUUID } from 'node:crypto'
import { readFile, rename, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createWhole, hasCode, readIfThere, unlinkIfThere } from './files.ts'
import { StartRefusal } from './refusal.ts'

const BEAT_MS = 2_000
const SILENCE_MS = 15_000
/** For a process of this machine that does not beat: after `kill -9` the kernel takes some time to end it. */
const DYING_MS = 5_000
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
 * Takes the data directory for this process: a second PGlite on it would lose rows without an error.
 * Throws StartRefusal while another process holds it, which takes as long as it takes to see it beat.
 * `onLost`: somebody else took it over; stop writing at once.
 */
export async function takeLock(dataDir: string, onLost: () => void): Promise<Lock> {
  const path = join(dataDir, 'lock')
  const own: Owner = { nonce: randomUUID(), pid: process.pid, host: hostname() }
  while (!(await createWhole(path, JSON.stringify(own)))) {
    const owner = await readOwner(path)
    const outcome = owner ? await outcomeOf(path, owner) : 'changed'
    if (outcome === 'held') {
      throw new StartRefusal(
        `data directory ${dataDir} is in use by process ${owner!.pid} on ${owner!.host}; if that is no gateway, remove ${path}`
      )
    }
    if (outcome === 'stale') await setAside(path, owner!)
  }
  const beat = setInterval(() => void keep(path, own, onLost), BEAT_MS).unref()
  return {
    async release() {
      clearInterval(beat)
      if (await holds(path, own)) await unlinkIfThere(path)
    }
  }
}

async function keep(path: string, own: Owner, onLost: () => void): Promise<void> {
  try {
    if (!(await holds(path, own))) return onLost()
    const now = new Date()
    await utimes(path, now, now)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) onLost()
  }
}

const holds = async (path: string, own: Owner) => (await readOwner(path))?.nonce === own.nonce

async function readOwner(path: string): Promise<Owner | undefined> {
  const text = await readIfThere(path)
  if (text === undefined) return undefined
  try {
    const owner = JSON.parse(text) as Owner | null
    if (typeof owner?.nonce === 'string') return owner
  } catch {
    // Falls through: lock files are created whole, so this is none of ours and nobody beats for it.
  }
  return { nonce: '', pid: 0, host: 'an unknown host' }
}

/**
 * Waits for an owner on this machine that may be ending. `held` once it has beaten meanwhile, or lives on without;
 * `changed` where the lock is no longer its.
 */
async function outcomeOf(path: string, owner: Owner): Promise<'stale' | 'held' | 'changed'> {
  const mayBeEnding = owner.host === hostname() && owner.pid !== process.pid
  const firstBeat = await lastBeat(path)
  const end = Date.now() + (mayBeEnding ? DYING_MS : 0)
  for (;;) {
    if (!(await holds(path, owner))) return 'changed'
    if (await isStale(path, owner)) return 'stale'
    if ((await lastBeat(path)) > firstBeat || Date.now() >= end) return 'held'
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

async function isStale(path: string, owner: Owner): Promise<boolean> {
  const beat = await lastBeat(path)
  if (owner.host !== hostname()) return Date.now() - beat > SILENCE_MS
  // After a restart of the machine or of a container the pid may be another process's: one that is younger than the beat.
  return !(await isAlive(owner.pid)) || beat < (await startOf(owner.pid))
}

/** Ticks of /proc/<pid>/stat in a second, the same on every platform of Linux that Node.js runs on. */
const TICKS = 100
/** The machine's own start is told in whole seconds. */
const START_ERROR_MS = 2_000

const STATE_FIELD = 0
const START_FIELD = 19

/** Fields of /proc/<pid>/stat from the third on: the second is a name in parentheses that may hold anything. */
async function statOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** When a process has started at the earliest, in milliseconds since 1970; 0 where the system does not tell. */
async function startOf(pid: number): Promise<number> {
  if (pid === process.pid) return Date.now() - process.uptime() * 1000
  if (process.platform !== 'linux') return 0
  try {
    const [fields, machine] = await Promise.all([statOf(pid), readFile('/proc/stat', 'latin1')])
    const ticks = Number(fields[START_FIELD])
    const boot = Number(/^btime (\d+)$/m.exec(machine)?.[1])
    const start = boot * 1000 + (ticks / TICKS) * 1000 - START_ERROR_MS
    return Number.isFinite(start) ? start : 0
  } catch {
    return 0
  }
}

async function lastBeat(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0
    throw error
  }
}

/** A zombie has ended; its parent has not asked how yet. */
async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (!hasCode(error, 'EPERM')) return false
  }
  if (process.platform !== 'linux') return true
  try {
    return !/^[ZX]/i.test((await statOf(pid))[STATE_FIELD] ?? '')
  } catch {
    // hidden (hidepid), or gone since: the next look tells
    return true
  }
}

/** Removes a stale lock. Of two that try, the later one may move the first one's new lock: it is put back. */
async function setAside(path: string, stale: Owner): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    await rename(path, aside)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  const moved = await readIfThere(aside)
  const movedOwner = await readOwner(aside)
  if (moved !== undefined && movedOwner?.nonce !== stale.nonce) await createWhole(path, moved)
  await unlinkIfThere(aside)
}
