import type { Verdict } from '../../registry/model.ts'
import { openLegacyLink, openModernLink, type Link, type LinkOptions } from './watch-link.ts'

/** The gateway's own session with one upstream, which carries no call (mcp-proxy.md#upstream-sessions). */
export interface WatchSession {
  /** The resources to be told of, in place of those before. Settles when the upstream knows, or could not be told. */
  follow(uris: ReadonlySet<string>): Promise<void>
  close(): void
}

export interface WatchSessionOptions extends LinkOptions {
  readonly verdict: Pick<Verdict, 'modern'>
  /** Milliseconds before the first attempt. */
  readonly delayMs: number
  /** Runs the opening when its turn has come. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
  /** It is open; `isFirst` is false where it had been open before, so that something may have been missed. */
  readonly onOpen: (isFirst: boolean) => void
  readonly onFailure: (error: unknown) => void
}

const FIRST_DELAY_MS = 1_000
const LONGEST_DELAY_MS = 30_000
/** What stayed open that long has worked: the next attempt is a first one again. */
const STEADY_MS = 30_000

/** Half of it is chance, so that those that were lost together do not come back together. */
const backoff = (attempt: number) =>
  Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt) * (0.5 + Math.random() / 2)

export function createWatchSession(options: WatchSessionOptions): WatchSession {
  const { client, verdict, inTurn, onOpen, onFailure } = options
  const openLink = verdict.modern === null ? openLegacyLink : openModernLink
  let uris: ReadonlySet<string> = new Set()
  let link: Link | null = null
  let isClosed = false
  let wake = () => {}
  let attempt = 0
  let isFirst = true
  let tried = () => {}
  /** Settles with the latest attempt to open it. */
  let opening: Promise<unknown> = new Promise<void>((resolve) => (tried = resolve))

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref()
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const open = async (): Promise<Link | null> => {
    if (isClosed) return null
    link = await openLink(options)
    if (isClosed) link?.close()
    else await link?.follow(uris)
    return link
  }
  /** False where there is nothing to be had. */
  const attend = async (): Promise<boolean> => {
    const opened = inTurn(open)
    opening = opened.then(tried, tried)
    const startedAt = performance.now()
    const current = await opened
    if (!current) return false
    onOpen(isFirst)
    isFirst = false
    await current.ended
    link = null
    if (performance.now() - startedAt > STEADY_MS) attempt = 0
    return true
  }
  const run = async () => {
    await pause(options.delayMs)
    while (!isClosed) {
      try {
        if (!(await attend())) return
      } catch (error) {
        if (!isClosed && attempt === 0) onFailure(error)
      }
      if (!isClosed) await pause(backoff(attempt++))
    }
  }
  void run()

  return {
    async follow(wanted) {
      uris = wanted
      if (!link) await opening
      await link?.follow(uris)
    },
    close() {
      isClosed = true
      wake()
      tried()
      link?.close()
      client.close()
    }
  }
}
