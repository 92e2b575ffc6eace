import { definitionPolicyOf } from '../catalog/served-definitions.ts'
import { PRODUCT } from '../domain/product.ts'
import type { UpstreamOffer } from '../registry/model/model.ts'
import type { ServerListChange } from '../mcp/list-change-notifier.ts'
import { createListChanges, isListChange } from '../upstream/watch/list-changes.ts'
import { createRefresher, type Refresher } from '../control/refresher.ts'
import { createSignal, type Signal } from '../lib/signal.ts'
import type { Target } from '../upstream/transports.ts'
import { administrators, messageOf, UpstreamFailure } from '../protocol/upstream-failure.ts'
import type { GatewayBase } from './base.ts'
import type { UpstreamSide } from './upstream-side.ts'

/** Reading of upstreams' lists: on request, after notifications, and at intervals. */
export interface ListRefresh {
  /** Reads the lists for a registration; like every read in order of its start. Rejects with UpstreamFailure. */
  readOffer(target: Target): Promise<UpstreamOffer>
  readonly refresher: Refresher
  /**
   * Emitted after a requested read, whether or not it succeeded or found a difference, with the lists that the server had
   * announced.
   */
  readonly announcedListsRead: Signal<[change: ServerListChange]>
  /** Reads the lists on a session that is opened for it. Rejects with UpstreamFailure. */
  rereadServer(target: Target): Promise<UpstreamOffer>
}

const systemActor = { kind: 'system', name: PRODUCT } as const

/** Returns what the health of a server keeps of an error, with the output of its program. */
function contactFailure(error: unknown) {
  if (!(error instanceof UpstreamFailure)) return undefined
  const { reason, status, code, program } = error
  return { reason, status, code, program, message: messageOf(error, administrators) }
}

export function createListRefresh(
  { options, live }: GatewayBase,
  { connections, health, notifications }: UpstreamSide
): ListRefresh {
  const { registry, config, log } = options
  const announcedListsRead = createSignal<[change: ServerListChange]>()
  const announcedLists = createListChanges()
  /** Overlapping reads of one server, by this replica or others, are stored in the order in which they began. */
  const inOrder = async (read: () => Promise<UpstreamOffer>): Promise<UpstreamOffer> => {
    const number = await registry.beginRead()
    return { ...(await read()), read: number }
  }
  const readServer = (target: Target) =>
    inOrder(() =>
      health.track(target.name, () => connections.readOffer({ ...target, negotiation: null }), contactFailure)
    )
  const refresher = createRefresher({
    intervalMs: config.refreshIntervalMs,
    catalog: () => live.current,
    claim: ({ id }, withinMs) => registry.tryStartRefresh(id, withinMs),
    read: (stored) => readServer(connections.targetOf(stored)),
    store(stored, offer) {
      const change = { actor: systemActor, action: 'server.refresh', target: stored.name }
      return registry.refresh(change, stored.id, offer, stored)
    },
    onRead(stored) {
      const { id, name } = stored
      const lists = announcedLists.take(id)
      // of pinned definitions a client hears only if what it is served differs
      const isFollowed = definitionPolicyOf(stored, config.definitions) === 'follow'
      if (lists.size > 0 && isFollowed) announcedListsRead.emit({ server: name, lists })
    },
    log
  })
  notifications.subscribe(({ id }, method, _params, isOpening) => {
    if (isOpening && isListChange(method)) refresher.suggestRefresh(id)
    else if (announcedLists.record(id, method)) refresher.requestRefresh(id)
  })
  live.onChange('notify', () => refresher.reviewServers())
  return {
    readOffer: (target) => inOrder(() => connections.readOffer(target)),
    refresher,
    announcedListsRead,
    // a person refreshes after updating a server: the next call must not get a session of the old version
    rereadServer(target) {
      connections.upstreams.discardSpareSessions(target.name)
      return readServer(target)
    }
  }
}
