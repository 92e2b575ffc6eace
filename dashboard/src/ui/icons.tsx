export const Logo = () => (
  <svg
    width="22"
    height="22"
    viewBox="0 0 22 22"
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linecap="round"
    aria-hidden="true"
  >
    <path d="M3 4h4c4 0 4 7 8 7h4M3 11h16M3 18h4c4 0 4-7 8-7" />
  </svg>
)

/** Arrow that turns by 90° inside `[aria-expanded=true]` and `details[open]`. */
export const Chevron = () => (
  <svg class="chev" width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
    <path d="M3 1.5 7 5 3 8.5" fill="none" stroke="currentColor" stroke-width="1.5" />
  </svg>
)

export const Done = () => (
  <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
    <path d="m2 6.5 2.7 2.7L10 3.5" fill="none" stroke="currentColor" stroke-width="2" />
  </svg>
)

export const HalfMoon = () => (
  <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
    <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5" />
    <path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" />
  </svg>
)

export type Tone = 'ok' | 'warn' | 'err' | 'off'

const shapes = {
  ok: <circle cx="5" cy="5" r="4.5" fill="currentColor" />,
  warn: (
    <>
      <circle cx="5" cy="5" r="4" fill="none" stroke="currentColor" />
      <path d="M5 1a4 4 0 0 1 0 8z" fill="currentColor" />
    </>
  ),
  err: <path d="M5 .5 9.8 9.5H.2z" fill="currentColor" />,
  off: <circle cx="5" cy="5" r="4" fill="none" stroke="currentColor" />
} as const

/** Shape of a tone: each tone has its own, so that colour is never the only sign of a state. */
export const Shape = ({ tone }: { tone: Tone }) => (
  <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
    {shapes[tone]}
  </svg>
)
