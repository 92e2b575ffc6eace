import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
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
   * Call before starting a child. Returns the value for `MARK` in the child's environment. Throws UpstreamFailure once
   * `closeAll` has begun.
   */
  createMark(): string
  /**
   * Registers a started child, which must lead its own session. `uid`: user id that it was started with, if any.
   * `cleanUp` must not reject.
   */
  register(child: ChildProcess, mark: string, uid: number | undefined, cleanUp: () => Promise<void>): ProcessTree
  /** Ends all trees and releases the watchdog. Resolves when they are gone, after some six seconds at the latest. */
  closeAll(): Promise<void>
  /** Kills all trees without waiting, for `process.on('exit')`. */
  killAll(): void
}

/** Environment variable that identifies orphaned processes. Its value is random and unique to this gateway. */
export const MARK_VARIABLE = 'TOWPATH_STDIO_SESSION'

/** Delay in which several ending trees share one read of the process table. */
const SWEEP_DELAY_MS = 20

/** Creates the registry of children. `watch` starts the gateway's watchdog; all its marks begin with `prefix`. */
export function createChildRegistry(watch: (prefix: string) => Watchdog): ChildRegistry {
  const prefix = `${MARK_VARIABLE}=${randomUUID()}.`
  const watchdog = watch(prefix)
  const trees = new Map<number, ChildIdentity & ProcessTree>()
  let started = 0
  let isClosing = false
  let sweeping: ReturnType<ReadTable> | null = null

  const readShared = () => {
    sweeping ??= delay(SWEEP_DELAY_MS).then(() => {
      sweeping = null
      return readTable()
    })
    return sweeping
  }

  return {
    get size() {
      return trees.size
    },
    createMark() {
      if (isClosing) throw new UpstreamFailure('unreachable', 'the gateway is stopping', { maybeProcessed: false })
      watchdog.ensureRunning()
      return `${prefix}${started++}`.slice(MARK_VARIABLE.length + 1)
    },
    register(child, mark, uid, cleanUp) {
      const pid = child.pid!
      const belongings = { pid, start: entryOf(pid)?.start ?? 0, mark: `${MARK_VARIABLE}=${mark}`, uid }
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
    },
    async closeAll() {
      isClosing = true
      for (const tree of trees.values()) tree.end(true)
      await Promise.all([...trees.values()].map((tree) => tree.ended))
      watchdog.close()
    },
    killAll() {
      killTreesNow(trees.values())
    }
  }
}
