import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { createLauncher, type LaunchOptions, type ServerProcess } from './launcher.ts'
import { entryOf, readTable, type ChildIdentity, type ReadTable } from './process-table.ts'
import { endTree, killTreesNow } from './process-tree.ts'
import type { Watchdog } from './watchdog.ts'

/** One child with all its descendants. */
export interface ProcessTree {
  /** Ends the tree in the background; `isPatient` false: kills it at once. Idempotent, the first call counts. */
  end(isPatient: boolean): void
  /** Resolves when no process is left and `cleanUp` is done. */
  readonly ended: Promise<void>
}

/** All process trees of this gateway that may still be alive, including those being ended. */
export interface ChildRegistry {
  readonly size: number
  /**
   * Starts a child that leads its own session. `uid`: user id that it runs with, if not the gateway's. `cleanUp` runs
   * after the end of the tree, and must not reject. Rejects with the system's error, and with UpstreamFailure once
   * `closeAll` has begun.
   */
  start(
    options: LaunchOptions,
    uid: number | undefined,
    cleanUp: () => Promise<void>
  ): Promise<{ readonly child: ServerProcess; readonly tree: ProcessTree }>
  /** Ends all trees and releases the watchdog. Resolves when they are gone, after some six seconds at the latest. */
  closeAll(): Promise<void>
  /** Kills all trees without waiting, for `process.on('exit')`. */
  killAll(): void
}

/** Environment variable that identifies orphaned processes. Its value is random and unique to this gateway. */
export const MARK_VARIABLE = 'TOWPATH_STDIO_SESSION'

/** Delay in which several ending trees share one read of the process table. */
const SWEEP_DELAY_MS = 100

/** Creates the registry of children. `watch` starts the gateway's watchdog; all its marks begin with `prefix`. */
export function createChildRegistry(watch: (prefix: string) => Watchdog): ChildRegistry {
  const prefix = `${MARK_VARIABLE}=${randomUUID()}.`
  const watchdog = watch(prefix)
  const launcher = createLauncher()
  const trees = new Map<number, ChildIdentity & ProcessTree>()
  const starts = new Set<Promise<ServerProcess>>()
  let count = 0
  let isClosing = false
  let sweeping: ReturnType<ReadTable> | null = null

  const readShared = () => {
    sweeping ??= delay(SWEEP_DELAY_MS).then(() => {
      sweeping = null
      return readTable()
    })
    return sweeping
  }

  const register = (child: ServerProcess, mark: string, uid: number | undefined, cleanUp: () => Promise<void>) => {
    const { pid } = child
    const belongings = { pid, start: entryOf(pid)?.start ?? 0, mark, uid }
    let begin: (isPatient: boolean) => void = () => {}
    const work = async () => {
      const isPatient = await new Promise<boolean>((resolve) => (begin = resolve))
      await endTree(child, belongings, isPatient, readShared)
      await cleanUp()
      trees.delete(pid)
      watchdog.remove(pid)
    }
    const ended = work()
    const tree = { ...belongings, end: (isPatient: boolean) => begin(isPatient), ended }
    trees.set(pid, tree)
    watchdog.add(pid)
    return tree
  }

  return {
    get size() {
      return trees.size
    },
    async start(options, uid, cleanUp) {
      if (isClosing) throw new UpstreamFailure('unreachable', 'the gateway is stopping', { maybeProcessed: false })
      watchdog.ensureRunning()
      const mark = `${prefix}${count++}`
      const env = { ...options.env, [MARK_VARIABLE]: mark.slice(MARK_VARIABLE.length + 1) }
      const starting = launcher.start({ ...options, env })
      starts.add(starting)
      try {
        const child = await starting
        const tree = register(child, mark, uid, cleanUp)
        if (isClosing) tree.end(false)
        return { child, tree }
      } finally {
        starts.delete(starting)
      }
    },
    async closeAll() {
      isClosing = true
      await Promise.allSettled(starts)
      for (const tree of trees.values()) tree.end(true)
      await Promise.all([...trees.values()].map((tree) => tree.ended))
      launcher.close()
      watchdog.close()
    },
    killAll() {
      killTreesNow(trees.values())
    }
  }
}
