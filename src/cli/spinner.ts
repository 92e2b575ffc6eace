import type { GlobalFlags } from './cli.ts'
import type { World } from './world.ts'

/** What is waited for is told after so long: most answers are there sooner. */
const AFTER_MS = 300
const STEP_MS = 100
const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const text = ' waiting for the gateway'

/** Waits, and says so while it takes. */
export type Waiting = <T>(work: Promise<T>) => Promise<T>

/** On a terminal alone, and without escape sequences: the line is written over. `-q` and `-v` do without. */
export function createWaiting({ env, stderr }: World, { quiet, verbose }: GlobalFlags): Waiting {
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
