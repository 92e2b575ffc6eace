import { useEffect, useState } from 'preact/hooks'

const DELAY_MS = 200

/** Returns `value` once it has not changed for a moment (debounce). */
export function useDebounced(value: string): string {
  const [late, setLate] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), DELAY_MS)
    return () => clearTimeout(timer)
  }, [value])
  return late
}
