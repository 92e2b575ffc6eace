import { randomUUID } from 'node:crypto'
import { readFile, rename, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createWhole, hasCode, readIfThere, unlinkIfThere } from './files.ts'
import { StartRefusal } from './refusal.ts'

const BEAT_MS = 2_000
const SILENCE_MS = 15_000

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
 * Throws StartRefusal while another process holds it. `onLost`: somebody else took it over; stop writing at once.
 */
export async function takeLock(dataDir: string, onLost: () => void): Promise<Lock> {
  const path = join(dataDir, 'lock')
  const own: Owner = { nonce: randomUUID(), pid: process.pid, host: hostname() }
  while (!(await createWhole(path, JSON.stringify(own)))) {
    const owner = await readOwner(path)
    if (owner && !(await isStale(path, owner))) {
      throw new StartRefusal(
        `data directory ${dataDir} is in use by process ${owner.pid} on ${owner.host}; if that is no gateway, remove ${path}`
      )
    }
    await setAside(path, owner)
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

async function isStale(path: string, owner: Owner): Promise<boolean> {
  const beat = await lastBeat(path)
  if (owner.host !== hostname()) return Date.now() - beat > SILENCE_MS
  // After a restart of the machine or of a container the pid may be another process's: one that is younger than the beat.
  return !isAlive(owner.pid) || beat < (await startOf(owner.pid))
}

/** Ticks of /proc/<pid>/stat in a second, the same on every platform of Linux that Node.js runs on. */
const TICKS = 100
/** The machine's own start is told in whole seconds. */
const START_ERROR_MS = 2_000

/** When a process has started at the earliest, in milliseconds since 1970; 0 where the system does not tell. */
async function startOf(pid: number): Promise<number> {
  if (pid === process.pid) return Date.now() - process.uptime() * 1000
  if (process.platform !== 'linux') return 0
  try {
    const [own, machine] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'latin1'),
      readFile('/proc/stat', 'latin1')
    ])
    // the second field is a name in parentheses that may hold anything; the 22nd is the start
    const ticks = Number(own.slice(own.lastIndexOf(')') + 2).split(' ')[19])
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}

/** Removes a stale lock. Of two that try, the later one may move the first one's new lock: it is put back. */
async function setAside(path: string, stale: Owner | undefined): Promise<void> {
  if (!stale) return
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
