import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { useApp } from '../app-context.ts'
import { ApiError } from '../api.ts'
import { ErrorPanel, Skeleton } from '../ui/panels.tsx'

const away = new ApiError(0, 'Towpath cannot be reached')
/** Shown if the asset belongs to another build: the gateway was updated while this page was open. */
const outdated = new ApiError(409, 'Reload the page: the gateway may have been updated')

/** Returns a component that is loaded on first use; after a failed load it retries once the gateway is reachable. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function Lazy(props: P) {
    const { store } = useApp()
    const isThere = useSignal(loaded !== undefined)
    const hasFailed = useSignal(false)
    const isReachable = store.reachable.value
    useEffect(() => {
      const attempt = async () => {
        try {
          loaded ??= await load()
          isThere.value = true
        } catch {
          // updates `reachable`
          await store.refresh()
          hasFailed.value = true
        }
      }
      if (!isThere.value) void attempt()
    }, [isReachable, isThere, hasFailed, store])
    const Component = isThere.value ? loaded : undefined
    if (Component) return <Component {...props} />
    if (!hasFailed.value) return <Skeleton />
    return (
      <ErrorPanel
        title="The page could not be loaded."
        error={isReachable ? outdated : away}
        {...(isReachable && { onRetry: () => globalThis.location.reload() })}
      />
    )
  }
}
