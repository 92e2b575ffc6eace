import { useSignal, type ReadonlySignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ToolGroupPreview } from '../../../src/schemas/dashboard/tool-groups.ts'
import { ApiError, path, send } from '../api.ts'
import { groupInput, type Draft } from './draft.ts'

export interface Preview {
  readonly data: ReadonlySignal<ToolGroupPreview | undefined>
  readonly error: ReadonlySignal<ApiError | undefined>
  /** True while the preview belongs to an older draft. */
  readonly isStale: ReadonlySignal<boolean>
}

/** Debounce delay, so that several quick clicks send one request. */
const DELAY_MS = 120

/**
 * Loads the effective tools of a draft from the gateway's own resolver. `basis`: any value whose change makes the
 * preview stale.
 */
export function usePreview(draft: Draft, basis: unknown): Preview {
  const data = useSignal<ToolGroupPreview | undefined>(undefined)
  const error = useSignal<ApiError | undefined>(undefined)
  const isStale = useSignal(true)
  // the name does not affect the result, but the route requires a valid one
  const body = JSON.stringify({ ...groupInput(draft), name: 'preview' })
  useEffect(() => {
    const abort = new AbortController()
    isStale.value = true
    const ask = async () => {
      try {
        const answer = await send<ToolGroupPreview>('POST', path('tool-groups', 'preview'), {
          text: body,
          signal: abort.signal
        })
        data.value = answer.body
        error.value = undefined
        isStale.value = false
      } catch (failure) {
        if (!abort.signal.aborted)
          error.value = failure instanceof ApiError ? failure : new ApiError(0, String(failure))
      }
    }
    const timer = setTimeout(() => void ask(), data.value === undefined ? 0 : DELAY_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [body, basis, data, error, isStale])
  return { data, error, isStale }
}
