import { effect, signal, type ReadonlySignal } from '@preact/signals'
import { addressOf, mount } from './mount.ts'
import type { ChangeEvent } from '../../src/schemas/dashboard/events.ts'

/** State of updates. `live`: events arrive. `polling`: no event stream. `paused`: the page is hidden. */
export type LiveState = 'connecting' | 'live' | 'polling' | 'paused'

export interface Live {
  readonly state: ReadonlySignal<LiveState>
  /** Starts following the visibility of the page. */
  start(): void
}

interface LiveOptions {
  /** Called on changes; without kinds anything may have changed. */
  onChange(kinds?: ReadonlySet<string>): void
  /** Called when the event stream has opened: answers loaded before may be stale. */
  onOpen(): void
  /** False after a request without an answer, which may happen while the stream stays open. */
  readonly isReachable: ReadonlySignal<boolean>
  readonly url?: string
  readonly pollMs?: number
}

/**
 * Reports changes from the gateway's event stream, or polls if the stream fails. Both stop while the page is hidden.
 */
export function createLive({
  onChange,
  onOpen,
  isReachable,
  url = addressOf(`${mount.api}/events`),
  pollMs = 5_000
}: LiveOptions): Live {
  const state = signal<LiveState>('connecting')
  let events: EventSource | undefined
  let timer: ReturnType<typeof setInterval> | undefined

  const stopPolling = () => {
    clearInterval(timer)
    timer = undefined
  }
  const open = () => {
    events?.close()
    events = new EventSource(url)
    events.addEventListener('open', () => {
      stopPolling()
      // changes made while the stream was closed
      if (state.value === 'connecting') onOpen()
      else onChange()
      state.value = 'live'
    })
    events.addEventListener('change', ({ data }: MessageEvent<string>) => {
      const { kinds } = JSON.parse(data) as ChangeEvent
      onChange(new Set(kinds))
    })
    events.addEventListener('error', poll)
  }
  const poll = () => {
    // the cause of the disconnect may affect the page's data too
    if (state.value !== 'polling') onChange()
    state.value = 'polling'
    timer ??= setInterval(() => {
      onChange()
      if (events?.readyState === EventSource.OPEN && isReachable.value) {
        stopPolling()
        state.value = 'live'
      }
      // the browser reconnects by itself, but not after an answer that is no event stream
      if (events?.readyState === EventSource.CLOSED) open()
    }, pollMs)
  }
  const follow = () => {
    if (document.hidden) {
      events?.close()
      stopPolling()
      state.value = 'paused'
    } else open()
  }
  return {
    state,
    start() {
      document.addEventListener('visibilitychange', follow)
      follow()
      effect(() => {
        if (!isReachable.value && state.peek() === 'live') poll()
      })
    }
  }
}
