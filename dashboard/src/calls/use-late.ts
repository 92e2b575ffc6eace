import { useEffect, useState } from 'preact/hooks'

const QUIET_MS = 200

/** What is typed, once the typing has paused. */
export function useLate(value: string): string {
  const [late, setLate] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), QUIET_MS)
    return () => clearTimeout(timer)
  }, [value])
  return late
}
