import { useEffect, useState } from 'preact/hooks'

const QUIET_MS = 200

/** Returns `value` once it has not changed for a moment (debounce). */
export function useLate(value: string): string {
  const [late, setLate] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), QUIET_MS)
    return () => clearTimeout(timer)
  }, [value])
  return late
}
