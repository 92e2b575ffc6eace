import type { StoredServer } from '../registry/model/model.ts'
import { createListChangeNotifier, type ListChangeNotifier } from '../mcp/list-change-notifier.ts'
import type { ListRefresh } from './list-refresh.ts'
import { parseUpdate } from '../protocol/notifications.ts'
import { createSignal } from '../lib/signal.ts'
import { createSubscriptions, type Subscriptions } from '../mcp/subscriptions/resource-subscriptions.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import { createWatchSession } from '../upstream/watch/watch-session.ts'
import type { GatewayBase } from './base.ts'
import type { UpstreamSide } from './upstream-side.ts'
import { createTaskStreams, type TaskStreams } from '../upstream/task-streams.ts'
import { createUpstreamWatchers, type UpstreamWatchers } from '../upstream/upstream-watchers.ts'

/** Notifications from upstreams to clients: changed lists and updated resources. */
export interface ServerWatching {
  readonly listChanges: ListChangeNotifier
  readonly subscriptions: Subscriptions
  readonly upstreamWatchers: UpstreamWatchers
  readonly taskStreams: TaskStreams
}

/** Watch sessions that are opened concurrently. */
const MAX_OPENING_WATCHES = 8
const OUTDATED_MS = 60_000

/**
 * Tests if a server's lists may have changed while it was not watched. A process's lists are read on demand. Another
 * replica may have read them, so that only wall clocks can be compared; a time in the future says that one is wrong.
 */
const isOutdated = ({ transport, negotiation }: StoredServer) =>
  transport !== 'stdio' &&
  negotiation !== null &&
  Math.abs(Date.now() - Date.parse(negotiation.checkedAt)) > OUTDATED_MS

export function createServerWatching(
  { options, live, quotas }: GatewayBase,
  { connections, notifications }: UpstreamSide,
  { refresher, announcedListsRead }: ListRefresh
): ServerWatching {
  const { config, log } = options
  const subscribersChanged = createSignal<[]>()
  const listChanges = createListChangeNotifier(subscribersChanged.emit)
  const runInTurn = createSemaphore(MAX_OPENING_WATCHES).run
  const upstreamWatchers = createUpstreamWatchers({
    catalog: () => live.current,
    create: (stored, delayMs) =>
      createWatchSession({
        client: connections.createClient(stored),
        negotiation: stored.negotiation!,
        connectMs: config.timeouts.connectMs,
        delayMs,
        runInTurn,
        onNotification(method, params) {
          notifications.emit(stored, method, params, false)
          const update = method === 'notifications/resources/updated' ? parseUpdate(params) : undefined
          if (update) subscriptions.notifyUpdated(stored.name, update.uri, update.extra)
        },
        onOpen: (isFirst) => {
          if (!isFirst || isOutdated(stored)) refresher.requestRefresh(stored.id)
          else refresher.refreshIfStale(stored.id)
        },
        onFailure: (err) => log.warn({ err, server: stored.name }, 'the changes of a server cannot be watched')
      }),
    listenedServers: () => listChanges.servers(),
    subscribedUris: (server) => subscriptions.subscribedUris(server)
  })
  const subscriptions = createSubscriptions((server) => upstreamWatchers.updateSubscriptions(server))
  subscribersChanged.subscribe(() => upstreamWatchers.reviewSoon())
  announcedListsRead.subscribe((change) => listChanges.schedule(change))
  live.onChange('release', ({ hasNewPermits }) => {
    if (hasNewPermits) subscriptions.removeRevoked()
  })
  live.onChange('notify', () => upstreamWatchers.review())
  const taskStreams = createTaskStreams({
    createClient: connections.createClient,
    connectMs: config.timeouts.connectMs,
    quotas
  })
  live.onChange('release', ({ next }) => taskStreams.prune(next))
  return { listChanges, subscriptions, upstreamWatchers, taskStreams }
}
