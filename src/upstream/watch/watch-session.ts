import { setTimeout as delay } from 'node:timers/promises'
import { retryForever, type Backoff } from '../../lib/backoff.ts'
import type { Negotiation } from '../../registry/model/model.ts'
import { RECONNECTION } from '../transport/reconnection.ts'
import {
  openLegacyChannel,
  openModernChannel,
  type NotificationChannel,
  type ChannelOptions
} from './notification-channel.ts'

/** The gateway's own session with one upstream, which carries no calls (mcp-proxy.md#upstream-sessions). */
export interface WatchSession {
  /** Replaces the subscribed resources. Settles when the upstream has been told, or could not be. */
  subscribe(uris: ReadonlySet<string>): Promise<void>
  close(): void
}

export interface WatchSessionOptions extends ChannelOptions {
  readonly negotiation: Pick<Negotiation, 'modern'>
  /** Milliseconds before the first attempt. */
  readonly delayMs: number
  /** Runs the opening when it is this session's turn. */
  readonly runInTurn: <T>(work: () => Promise<T>) => Promise<T>
  /** Called when the channel is open; `isFirst` is false after a reconnect, when notifications may have been missed. */
  readonly onOpen: (isFirst: boolean) => void
  readonly onFailure: (error: unknown) => void
}

export function createWatchSession(options: WatchSessionOptions): WatchSession {
  const { client, negotiation, runInTurn, onOpen, onFailure } = options
  const openChannel = negotiation.modern === null ? openLegacyChannel : openModernChannel
  let uris: ReadonlySet<string> = new Set()
  let channel: NotificationChannel | null = null
  const closing = new AbortController()
  const { signal } = closing
  let isFirst = true
  let markTried = () => {}
  /** Settles with the latest attempt to open the channel. */
  let opening: Promise<unknown> = new Promise<void>((resolve) => (markTried = resolve))

  const open = async (): Promise<NotificationChannel | null> => {
    if (signal.aborted) return null
    channel = await openChannel(options)
    if (signal.aborted) channel?.close()
    else await channel?.subscribe(uris)
    return channel
  }
  /** Opens the channel and waits until it ends. Returns false if the upstream offers none. */
  const holdChannel = async (backoff: Backoff): Promise<boolean> => {
    const opened = runInTurn(open)
    opening = opened.then(markTried, markTried)
    const startedAt = performance.now()
    const current = await opened
    if (!current) return false
    onOpen(isFirst)
    isFirst = false
    await current.ended
    channel = null
    backoff.recordOpen(performance.now() - startedAt)
    return true
  }
  const attempt = async (backoff: Backoff) => {
    try {
      return !(await holdChannel(backoff))
    } catch (error) {
      if (!signal.aborted && backoff.failures === 0) onFailure(error)
      return false
    }
  }
  const run = async () => {
    // rejects only when the session is closed
    await delay(options.delayMs, undefined, { signal, ref: false }).catch(() => {})
    await retryForever(attempt, { ...RECONNECTION, signal })
  }
  void run()

  return {
    async subscribe(newUris) {
      uris = newUris
      if (!channel) await opening
      await channel?.subscribe(uris)
    },
    close() {
      closing.abort()
      markTried()
      channel?.close()
      client.close()
    }
  }
}
