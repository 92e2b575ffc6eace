import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

/** Pauses a live list by button, or while the list is scrolled. */
export function usePause<E extends HTMLElement>() {
  const list = useRef<E>(null)
  const isPausedByHand = useSignal(false)
  const isScrolled = useSignal(false)
  useEffect(() => {
    const look = () => {
      isScrolled.value = (list.current?.getBoundingClientRect().top ?? 0) < 0
    }
    look()
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [isScrolled])
  const isPaused = isPausedByHand.value || isScrolled.value
  const resume = () => {
    isPausedByHand.value = false
    if (isScrolled.value) list.current?.scrollIntoView()
  }
  return { list, isPaused, resume, toggle: () => (isPaused ? resume() : (isPausedByHand.value = true)) }
}
