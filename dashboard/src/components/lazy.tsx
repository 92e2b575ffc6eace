import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { ErrorPanel, Skeleton } from './panels.tsx'

/** A component whose code is loaded when it is first shown. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function Lazy(props: P) {
    const isThere = useSignal(loaded !== undefined)
    const error = useSignal<ApiError | undefined>(undefined)
    useEffect(() => {
      const attempt = async () => {
        try {
          loaded ??= await load()
          isThere.value = true
        } catch {
          // an asset of another build is gone: the gateway was updated under this page
          error.value = new ApiError(409, 'Load it again: the gateway may have been updated meanwhile')
        }
      }
      void attempt()
    }, [isThere, error])
    const Component = isThere.value ? loaded : undefined
    if (Component) return <Component {...props} />
    if (!error.value) return <Skeleton />
    return (
      <ErrorPanel
        what="The page could not be loaded."
        error={error.value}
        onRetry={() => globalThis.location.reload()}
      />
    )
  }
}
