import { useSignal } from '@preact/signals'

/** Index after a key, of `count` values; undefined: none is chosen, or the key does not choose one. */
export function indexAfterKey(key: string, current: number | undefined, count: number): number | undefined {
  const last = count - 1
  if (key === 'Home') return 0
  if (key === 'End') return last
  if (key === 'ArrowLeft' || key === 'ArrowDown') return Math.max((current ?? count) - 1, 0)
  if (key === 'ArrowRight' || key === 'ArrowUp') return Math.min((current ?? last - 1) + 1, last)
  return undefined
}

interface ReadoutOptions {
  /** Name of the chart. */
  readonly name: string
  /** Number of values from left to right. */
  readonly count: number
  /** Returns the values at an index as a sentence. */
  readonly textAt: (index: number) => string
}

/** Layer over a chart that tells values under the pointer and by arrow keys, and the sentence to show below it. */
export interface Readout {
  readonly layer: preact.ComponentChildren
  /** '' while no value is chosen. */
  readonly told: string
}

export function useReadout({ name, count, textAt }: ReadoutOptions): Readout {
  const chosen = useSignal<number | undefined>(undefined)
  // a shorter range has fewer values
  const index = chosen.value === undefined || count === 0 ? undefined : Math.min(chosen.value, count - 1)
  const clear = () => (chosen.value = undefined)
  const onPointer = ({ clientX, currentTarget }: PointerEvent & { readonly currentTarget: HTMLElement }) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    const at = Math.floor(((clientX - left) / Math.max(width, 1)) * count)
    chosen.value = Math.min(Math.max(at, 0), count - 1)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') clear()
    const next = indexAfterKey(event.key, index, count)
    if (next === undefined) return
    event.preventDefault()
    chosen.value = next
  }
  const told = index === undefined ? '' : textAt(index)
  const layer = (
    <>
      {index !== undefined && (
        <svg class="mark" viewBox={`0 0 ${count} 1`} preserveAspectRatio="none" aria-hidden="true">
          <rect x={index} width="1" height="1" />
        </svg>
      )}
      <div
        class="probe"
        role="slider"
        tabIndex={0}
        aria-label={`Values of the chart ${name}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(count - 1, 0)}
        aria-valuenow={index ?? 0}
        aria-valuetext={told || 'none chosen'}
        onPointerMove={onPointer}
        onPointerDown={onPointer}
        onPointerLeave={clear}
        onBlur={clear}
        onKeyDown={onKeyDown}
      />
    </>
  )
  return { layer, told }
}
