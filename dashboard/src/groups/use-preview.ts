import { useSignal, type ReadonlySignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ToolGroupPreview } from '../../../src/schemas/dashboard/tool-groups.ts'
import { ApiError, path, send } from '../api.ts'
import { groupInput, type Draft } from './draft.ts'

export interface Preview {
  readonly data: ReadonlySignal<ToolGroupPreview | undefined>
  readonly error: ReadonlySignal<ApiError | undefined>
  /** What is shown is not of this draft yet. */
  readonly isLate: ReadonlySignal<boolean>
}

/** Several clicks in quick succession are one question. */
const DELAY_MS = 120

/** What a draft would serve, asked of the resolver that the proxy uses. `basis`: anything that changes the answer. */
export function usePreview(draft: Draft, basis: unknown): Preview {
  const data = useSignal<ToolGroupPreview | undefined>(undefined)
  const error = useSignal<ApiError | undefined>(undefined)
  const isLate = useSignal(true)
  // a name says nothing about the set; the route wants a valid one
  const body = JSON.stringify({ ...groupInput(draft), name: 'preview' })
  useEffect(() => {
    const abort = new AbortController()
    isLate.value = true
    const ask = async () => {
      try {
        const answer = await send<ToolGroupPreview>('POST', path('tool-groups', 'preview'), {
          text: body,
          signal: abort.signal
        })
        data.value = answer.body
        error.value = undefined
        isLate.value = false
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
  }, [body, basis, data, error, isLate])
  return { data, error, isLate }
}
