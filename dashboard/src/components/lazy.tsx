import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { useApp } from '../app-context.ts'
import { ApiError } from '../api.ts'
import { ErrorPanel, Skeleton } from './panels.tsx'

const away = new ApiError(0, 'Towpath cannot be reached')
/** An asset of another build is gone: the gateway was updated under this page. */
const outdated = new ApiError(409, 'Load it again: the gateway may have been updated meanwhile')

/** A component whose code is loaded when it is first shown; where the gateway is away, once it is back. */
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
          // finds out whether the gateway is there at all
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
        what="The page could not be loaded."
        error={isReachable ? outdated : away}
        {...(isReachable && { onRetry: () => globalThis.location.reload() })}
      />
    )
  }
}
