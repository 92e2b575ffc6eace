import { effect, signal, type ReadonlySignal } from '@preact/signals'
import type { ChangeEvent } from '../../src/schemas/dashboard/events.ts'

/** `live`: the gateway tells what changes. `polling`: it is asked. `paused`: nobody looks. */
export type LiveState = 'connecting' | 'live' | 'polling' | 'paused'

export interface Live {
  readonly state: ReadonlySignal<LiveState>
  /** Follows the visibility of the page from now on. */
  start(): void
}

interface LiveOptions {
  /** Without kinds: anything may have changed. */
  onChange(kinds?: ReadonlySet<string>): void
  /** The gateway has begun to tell: what was answered before may have changed since. */
  onBegin(): void
  /** False after a request that reached nobody, which may happen while the stream stays open. */
  readonly isReachable: ReadonlySignal<boolean>
  readonly url?: string
  readonly pollMs?: number
}

/** Hears of changes from the gateway's event stream; where that fails it polls. Both stop while the page is hidden. */
export function createLive({
  onChange,
  onBegin,
  isReachable,
  url = '/api/dashboard/events',
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
      // what happened while nobody listened
      if (state.value === 'connecting') onBegin()
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
    // what the stream broke off for concerns the pages too
    if (state.value !== 'polling') onChange()
    state.value = 'polling'
    timer ??= setInterval(() => {
      onChange()
      if (events?.readyState === EventSource.OPEN && isReachable.value) {
        stopPolling()
        state.value = 'live'
      }
      // the browser tries again by itself, but not after an answer that is no stream
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
