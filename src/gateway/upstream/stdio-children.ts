import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { UpstreamFailure } from './failure.ts'
import { entryOf, readTable, type ChildIdentity, type ReadTable } from './process-table.ts'
import { endTree, killTreesNow } from './stdio-tree.ts'
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
  /**
   * To be called before a child is started. Throws UpstreamFailure once `closeAll` has begun. The answer is to be the value
   * of `MARK` in the child's environment.
   */
  prepare(): string
  /**
   * Takes charge of a started child, which must lead its own session. `uid`: identity that it was given, if any.
   * `cleanUp` must not reject.
   */
  adopt(child: ChildProcess, mark: string, uid: number | undefined, cleanUp: () => Promise<void>): Tree
  /** Ends all of them and lets the watchdog go. Resolves when they are gone, after some six seconds at the latest. */
  closeAll(): Promise<void>
  /** Kills all of them without waiting: for `process.on('exit')`. */
  killAll(): void
}

/** Variable by which processes are known that have lost their parent. Nobody else's has this gateway's random value. */
export const MARK = 'TOWPATH_STDIO_SESSION'

/** Time in which those who end together share one look at the process table. */
const SWEEP_DELAY_MS = 20

/** `watch` starts the watchdog of a gateway, whose marks all begin with `prefix`. */
export function createChildren(watch: (prefix: string) => Watchdog): Children {
  const prefix = `${MARK}=${randomUUID()}.`
  const watchdog = watch(prefix)
  const trees = new Map<number, ChildIdentity & Tree>()
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
    prepare() {
      if (isClosing) throw new UpstreamFailure('unreachable', 'the gateway is stopping', { maybeProcessed: false })
      watchdog.ready()
      return `${prefix}${started++}`.slice(MARK.length + 1)
    },
    adopt(child, mark, uid, cleanUp) {
      const pid = child.pid!
      const belongings = { pid, start: entryOf(pid)?.start ?? 0, mark: `${MARK}=${mark}`, uid }
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
