import type { ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { UpstreamFailure } from './failure.ts'
import { endTree, killSessionsNow, readSessions, type ReadSessions } from './stdio-tree.ts'
import type { Watchdog } from './stdio-watchdog.ts'

/** One child with everything that it started. */
export interface Tree {
  /** Ends it in the background; `isPatient` false: at once. Idempotent, the first call counts. */
  end(isPatient: boolean): void
  /** Resolves when nothing of it is left and `cleanUp` is done. */
  readonly ended: Promise<void>
}

/** Every process tree of this gateway that is not known to be gone: those on their way out count. */
export interface Children {
  readonly size: number
  /** To be called before a child is started. Throws UpstreamFailure once `closeAll` has begun. */
  prepare(): void
  /** Takes charge of a started child, which must lead its own session. `cleanUp` must not reject. */
  adopt(child: ChildProcess, cleanUp: () => Promise<void>): Tree
  /** Ends all of them and lets the watchdog go. Resolves when they are gone, after some six seconds at the latest. */
  closeAll(): Promise<void>
  /** Kills all of them without waiting: for `process.on('exit')`. */
  killAll(): void
}

/** Time in which those who end together share one look at the process table. */
const SWEEP_DELAY_MS = 20

export function createChildren(watchdog: Watchdog): Children {
  const trees = new Map<number, Tree>()
  let isClosing = false
  let sweeping: ReturnType<ReadSessions> | null = null

  const readShared = () => {
    sweeping ??= delay(SWEEP_DELAY_MS).then(() => {
      sweeping = null
      return readSessions()
    })
    return sweeping
  }

  return {
    get size() {
      return trees.size
    },
    prepare() {
      if (isClosing) throw new UpstreamFailure('unreachable', 'the gateway is stopping', { taken: false })
      watchdog.ready()
    },
    adopt(child, cleanUp) {
      const pid = child.pid!
      let begin: (isPatient: boolean) => void = () => {}
      const work = async () => {
        const isPatient = await new Promise<boolean>((resolve) => (begin = resolve))
        await endTree(child, isPatient, readShared)
        await cleanUp()
        trees.delete(pid)
        watchdog.remove(pid)
      }
      const ended = work()
      const tree: Tree = { end: (isPatient) => begin(isPatient), ended }
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
      killSessionsNow(new Set(trees.keys()))
    }
  }
}
