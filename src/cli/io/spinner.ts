import type { GlobalFlags } from './cli.ts'
import type { CliIo } from './io.ts'

/** Delay before the spinner appears; most responses arrive sooner. */
const AFTER_MS = 300
const STEP_MS = 100
const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const WAITING = 'waiting for the gateway'

/** Awaits a promise and shows a spinner meanwhile, with the reason for the wait and its seconds. */
export type Spinner = <T>(work: Promise<T>, reason?: string) => Promise<T>

/**
 * Creates the spinner. It appears on terminals only, without escape sequences (it overwrites its line), and not with
 * `-q` or `-v`.
 */
export function createSpinner({ env, stderr }: CliIo, { quiet, verbose }: GlobalFlags): Spinner {
  if (!stderr.isTTY || quiet || verbose || env.TERM === 'dumb') return (work) => work
  let pending = 0
  let timer: NodeJS.Timeout | undefined
  let step = 0
  let begun = 0
  let width = 0
  let reason = WAITING
  const show = () => {
    const seconds = Math.floor((performance.now() - begun) / 1_000)
    const text = `${frames[step++ % frames.length]!} ${reason}${seconds > 0 ? ` … ${seconds} s` : ''}`
    width = Math.max(width, text.length)
    stderr.write(`\r${text.padEnd(width)}`)
    timer = setTimeout(show, STEP_MS)
  }
  const end = () => {
    clearTimeout(timer)
    if (step > 0) stderr.write(`\r${' '.repeat(width)}\r`)
    step = 0
    width = 0
  }
  return async (work, why = WAITING) => {
    if (pending++ === 0) {
      reason = why
      begun = performance.now()
      timer = setTimeout(show, AFTER_MS)
    }
    try {
      return await work
    } finally {
      if (--pending === 0) end()
    }
  }
}
