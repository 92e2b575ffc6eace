import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ApiError } from '../api.ts'
import { ErrorPanel } from '../ui/panels.tsx'
import { duration } from '../format.ts'
import type { Answer } from '../results/answer.ts'

/** State of a run; `since` is a `performance.now()` time. */
export type RunState =
  | { readonly state: 'running'; readonly abort: AbortController; readonly since: number }
  | { readonly state: 'done'; readonly answer: Answer }
  | { readonly state: 'failed'; readonly error: ApiError }
  | { readonly state: 'cancelled' }

interface RunViewProps {
  readonly run: RunState | undefined
  readonly failed: string
  readonly result: (answer: Answer) => preact.ComponentChildren
  readonly onRetry: () => void
}

/** Result of a run, or its progress. */
export function RunView({ run, failed, result, onRetry }: RunViewProps) {
  switch (run?.state) {
    case undefined:
      return null
    case 'running':
      return <RunProgress since={run.since} />
    case 'done':
      return <>{result(run.answer)}</>
    case 'failed':
      return (
        <div class="res">
          <ErrorPanel title={failed} error={run.error} onRetry={onRetry} />
        </div>
      )
    case 'cancelled':
      return (
        <p class="res muted" role="status">
          Cancelled. The server may have completed part of the call.
        </p>
      )
  }
}

function RunProgress({ since }: { since: number }) {
  const now = useSignal(since)
  useEffect(() => {
    const timer = setInterval(() => (now.value = performance.now()), 200)
    return () => clearInterval(timer)
  }, [now])
  const ms = now.value - since
  return (
    <p class="res muted">
      <span role="status">Waiting for the server</span>
      {ms > 1_000 ? `, ${duration(ms)}` : ''}
    </p>
  )
}
