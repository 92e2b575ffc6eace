import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useApp } from '../app-context.ts'
import type { ApiError } from '../api.ts'
import { relative, sentence } from '../format.ts'
import type { Resource } from '../store.ts'
import { UntrustedText } from './untrusted-text.tsx'

/** Message for an empty page, with the next step. */
export const EmptyPanel = ({ title, children }: { title: string; children?: preact.ComponentChildren }) => (
  <section class="panel empty">
    <h2>{title}</h2>
    {children}
  </section>
)

const advice = ({ status }: ApiError) => {
  if (status === 0) return 'Check that the gateway is running. This page retries automatically.'
  if (status === 404) return 'It may have been removed.'
  if (status === 429 || status === 503) return 'The gateway or its database is overloaded. Try again in a moment.'
  if (status === 502 || status === 504) return 'Test the connection on the server’s page, which also shows its log.'
  if (status >= 500) return 'See the gateway log for details.'
  return undefined
}

interface ErrorPanelProps {
  /** First sentence: `The servers could not be loaded.` */
  readonly title: string
  readonly error: ApiError
  readonly onRetry?: () => unknown
}

/** Error message with the gateway's reason and advice. */
export const ErrorPanel = ({ title, error, onRetry }: ErrorPanelProps) => (
  <div class="panel failure" role="alert">
    <p>
      <strong>{title}</strong> <UntrustedText text={sentence(error.message)} /> {advice(error)}
    </p>
    {onRetry && (
      <button type="button" class="btn" onClick={() => void onRetry()}>
        Retry
      </button>
    )}
  </div>
)

/** Placeholder rows while data loads for more than 150 ms. */
export function Skeleton({ rows = 5 }: { rows?: number }) {
  const late = useSignal(false)
  useEffect(() => {
    const timer = setTimeout(() => (late.value = true), 150)
    return () => clearTimeout(timer)
  }, [late])
  return (
    <div class={late.value ? 'skeleton' : 'skeleton early'} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} />
      ))}
    </div>
  )
}

/** Stands in for a part that may stay empty: what follows it on the page appears once this is gone. */
export const Pending = () => <span class="pending" hidden />

interface AsyncContentProps<T> {
  readonly resource: Resource<T>
  /** Subject of the error message: `The servers` could not be loaded. */
  readonly subject: string
  readonly rows?: number
  readonly children: (data: T) => preact.ComponentChildren
}

/** Renders data once loaded; before that a skeleton or the error. Stale data stays, with a banner. */
export function AsyncContent<T>({ resource, subject, rows, children }: AsyncContentProps<T>) {
  const { now } = useApp()
  const { data, error, checkedAt, load } = resource
  if (data.value === undefined) {
    if (error.value) return <ErrorPanel title={`${subject} could not be loaded.`} error={error.value} onRetry={load} />
    return <Skeleton {...(rows ? { rows } : {})} />
  }
  const isStale = error.value !== undefined && error.value.status !== 0
  return (
    <>
      {isStale && (
        <ErrorPanel
          title={`${subject} could not be reloaded; showing data from ${relative(checkedAt.value, now.value)}.`}
          error={error.value!}
          onRetry={load}
        />
      )}
      {children(data.value)}
    </>
  )
}
