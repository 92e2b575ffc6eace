import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useApp } from '../app-context.ts'
import type { ApiError } from '../api.ts'
import { relative, sentence } from '../format.ts'
import type { Resource } from '../store.ts'
import { Shown } from './shown.tsx'

/** What a page says when there is nothing to list, and what to do about it. */
export const EmptyPanel = ({ title, children }: { title: string; children?: preact.ComponentChildren }) => (
  <section class="panel empty">
    <h2>{title}</h2>
    {children}
  </section>
)

const advice = ({ status }: ApiError) => {
  if (status === 0) return 'Check that the gateway runs. This page asks again by itself.'
  if (status === 404) return 'It may have been removed meanwhile.'
  if (status === 429 || status === 503) return 'The gateway or its database has too much to do. It often passes.'
  if (status === 502 || status === 504) return 'Test the connection on the page of the server; its log is there too.'
  if (status >= 500) return 'The log of the gateway says more.'
  return undefined
}

interface ErrorPanelProps {
  /** What did not work: `The servers could not be loaded.` */
  readonly what: string
  readonly error: ApiError
  readonly onRetry?: () => unknown
}

/** What failed, the cause in the gateway's words, what to do. */
export const ErrorPanel = ({ what, error, onRetry }: ErrorPanelProps) => (
  <div class="panel failure" role="alert">
    <p>
      <strong>{what}</strong> <Shown text={sentence(error.message)} /> {advice(error)}
    </p>
    {onRetry && (
      <button type="button" class="btn" onClick={() => void onRetry()}>
        Retry
      </button>
    )}
  </div>
)

/** Rows in place of data that takes longer than 150 ms. */
export function Skeleton({ rows = 5 }: { rows?: number }) {
  const late = useSignal(false)
  useEffect(() => {
    const timer = setTimeout(() => (late.value = true), 150)
    return () => clearTimeout(timer)
  }, [late])
  if (!late.value) return <div class="skeleton" hidden />
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} />
      ))}
    </div>
  )
}

interface LoadedProps<T> {
  readonly resource: Resource<T>
  /** `The servers` could not be loaded. */
  readonly what: string
  readonly rows?: number
  readonly children: (data: T) => preact.ComponentChildren
}

/** Data once it is there; before it a skeleton or the error, and old data with a banner where newer cannot be had. */
export function Loaded<T>({ resource, what, rows, children }: LoadedProps<T>) {
  const { now } = useApp()
  const { data, error, checkedAt, load } = resource
  if (data.value === undefined) {
    if (error.value) return <ErrorPanel what={`${what} could not be loaded.`} error={error.value} onRetry={load} />
    return <Skeleton {...(rows ? { rows } : {})} />
  }
  const isStale = error.value !== undefined && error.value.status !== 0
  return (
    <>
      {isStale && (
        <ErrorPanel
          what={`${what} could not be loaded again; this is from ${relative(checkedAt.value, now.value)}.`}
          error={error.value!}
          onRetry={load}
        />
      )}
      {children(data.value)}
    </>
  )
}
