import type { Verdict } from '../../registry/model/model.ts'
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
  readonly verdict: Pick<Verdict, 'modern'>
  /** Milliseconds before the first attempt. */
  readonly delayMs: number
  /** Runs the opening when it is this session's turn. */
  readonly runInTurn: <T>(work: () => Promise<T>) => Promise<T>
  /** Called when the channel is open; `isFirst` is false after a reconnect, when notifications may have been missed. */
  readonly onOpen: (isFirst: boolean) => void
  readonly onFailure: (error: unknown) => void
}

const FIRST_DELAY_MS = 1_000
const LONGEST_DELAY_MS = 30_000
/** A channel that stayed open this long counts as stable: the next reconnect starts with the first delay again. */
const STEADY_MS = 30_000

/** Half of the delay is random, so that channels lost together do not reconnect together. */
const backoff = (attempt: number) =>
  Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt) * (0.5 + Math.random() / 2)

export function createWatchSession(options: WatchSessionOptions): WatchSession {
  const { client, verdict, runInTurn, onOpen, onFailure } = options
  const openChannel = verdict.modern === null ? openLegacyChannel : openModernChannel
  let uris: ReadonlySet<string> = new Set()
  let channel: NotificationChannel | null = null
  let isClosed = false
  let wake = () => {}
  let attempt = 0
  let isFirst = true
  let markTried = () => {}
  /** Settles with the latest attempt to open the channel. */
  let opening: Promise<unknown> = new Promise<void>((resolve) => (markTried = resolve))

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref()
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const open = async (): Promise<NotificationChannel | null> => {
    if (isClosed) return null
    channel = await openChannel(options)
    if (isClosed) channel?.close()
    else await channel?.subscribe(uris)
    return channel
  }
  /** Opens the channel and waits until it ends. Returns false if the upstream offers none. */
  const holdChannel = async (): Promise<boolean> => {
    const opened = runInTurn(open)
    opening = opened.then(markTried, markTried)
    const startedAt = performance.now()
    const current = await opened
    if (!current) return false
    onOpen(isFirst)
    isFirst = false
    await current.ended
    channel = null
    if (performance.now() - startedAt > STEADY_MS) attempt = 0
    return true
  }
  const run = async () => {
    await pause(options.delayMs)
    while (!isClosed) {
      try {
        if (!(await holdChannel())) return
      } catch (error) {
        if (!isClosed && attempt === 0) onFailure(error)
      }
      if (!isClosed) await pause(backoff(attempt++))
    }
  }
  void run()

  return {
    async subscribe(newUris) {
      uris = newUris
      if (!channel) await opening
      await channel?.subscribe(uris)
    },
    close() {
      isClosed = true
      wake()
      markTried()
      channel?.close()
      client.close()
    }
  }
}
