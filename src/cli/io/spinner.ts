import type { GlobalFlags } from './cli.ts'
import type { CliIo } from './io.ts'

/** Delay before the spinner appears; most responses arrive sooner. */
const AFTER_MS = 300
const STEP_MS = 100
const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const text = ' waiting for the gateway'

/** Awaits a promise and shows a spinner meanwhile. */
export type Spinner = <T>(work: Promise<T>) => Promise<T>

/**
 * Creates the spinner. It appears on terminals only, without escape sequences (it overwrites its line), and not with
 * `-q` or `-v`.
 */
export function createSpinner({ env, stderr }: CliIo, { quiet, verbose }: GlobalFlags): Spinner {
  if (!stderr.isTTY || quiet || verbose || env.TERM === 'dumb') return (work) => work
  let pending = 0
  let timer: NodeJS.Timeout | undefined
  let step = 0
  const show = () => {
    stderr.write(`\r${frames[step++ % frames.length]!}${text}`)
    timer = setTimeout(show, STEP_MS)
  }
  const end = () => {
    clearTimeout(timer)
    if (step > 0) stderr.write(`\r${' '.repeat(text.length + 1)}\r`)
    step = 0
  }
  return async (work) => {
    if (pending++ === 0) timer = setTimeout(show, AFTER_MS)
    try {
      return await work
    } finally {
      if (--pending === 0) end()
    }
  }
}
