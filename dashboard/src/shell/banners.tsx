import { useApp, useSource } from '../app-context.ts'
import { relative } from '../format.ts'
import * as sources from '../sources.ts'

/** Banners above every page: the gateway is unreachable, or reachable by others. */
export function Banners() {
  const { store, now } = useApp()
  const { data, checkedAt } = useSource(sources.overview)
  return (
    <>
      {!store.reachable.value && (
        <p class="banner err" role="alert">
          <strong>Towpath cannot be reached.</strong>{' '}
          {checkedAt.value > 0 && <>Showing data from {relative(checkedAt.value, now.value)}. </>}
          Retrying every 5 s.
        </p>
      )}
      {data.value?.is_bound_wide && (
        <p class="banner warn">
          <strong>Other machines can reach this gateway, and it requires no token.</strong> Start it without{' '}
          <code>HOST</code>, or in enterprise mode.
        </p>
      )}
    </>
  )
}
