import { setTimeout as wait } from 'node:timers/promises'
import { aliasOf, type ResourceTarget } from '../scope.ts'
import { canFollow } from '../watching.ts'
import type { Exchange } from './exchange.ts'

/** Resources that one client follows, each by the URI that it used itself. */
export interface Following {
  readonly size: number
  /** Settles when the upstream knows, could not be told, or takes too long. */
  add(asked: string, target: ResourceTarget): Promise<void>
  /** Does nothing where it is not followed. */
  delete(asked: string): void
  close(): void
}

/** What one client may follow. */
export const MAX_FOLLOWED = 1_000
const TOLD_MS = 5_000

/** Whether a resource that the caller sees can be followed. */
export const canBeFollowed = (target: ResourceTarget | undefined): target is ResourceTarget =>
  target !== undefined && canFollow(target.server.stored.verdict)

/** `tell` gets the URI in the form that the client used; called only while the client may see the resource. */
export function createFollowing({ edge, caller, endpoint }: Exchange, tell: (uri: string) => void): Following {
  const { core, subscriptions } = edge
  const followed = new Map<string, () => void>()

  const follow = (asked: string, { server: { name }, uri, isAlias }: ResourceTarget): Promise<void> => {
    const subscriber = {
      updated(changed: string) {
        if (!core.scope(caller, endpoint).resolve(aliasOf(name, changed))) return
        tell(isAlias ? aliasOf(name, changed) : changed)
      }
    }
    followed.set(asked, () => subscriptions.delete(name, uri, subscriber))
    return subscriptions.add(name, uri, subscriber)
  }
  return {
    get size() {
      return followed.size
    },
    async add(asked, target) {
      if (followed.has(asked)) return
      const stop = new AbortController()
      const late = wait(TOLD_MS, undefined, { signal: stop.signal, ref: false }).catch(() => {})
      await Promise.race([follow(asked, target), late])
      stop.abort()
    },
    delete(asked) {
      followed.get(asked)?.()
      followed.delete(asked)
    },
    close() {
      for (const stop of followed.values()) stop()
      followed.clear()
    }
  }
}
