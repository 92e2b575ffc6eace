import { PRODUCT } from './product.ts'
import type { SessionMode } from './session-modes.ts'

/** Modes that keep sessions, offered for a server whose starts cost more than its calls. */
export const KEEPING_MODES = ['stateful', 'shared'] as const satisfies readonly SessionMode[]
export type KeepingMode = (typeof KEEPING_MODES)[number]

/** Start of a server's process or session, beside what the server was started for; typical milliseconds. */
export interface StartCost {
  readonly start_ms: number
  /** Of a call; absent if the server has only been registered. */
  readonly call_ms?: number
  /** Of reading the lists at the registration; absent after calls. */
  readonly lists_ms?: number
  /** Modes that avoid the starts and that the gateway accepts for this server. */
  readonly session_modes: readonly KeepingMode[]
}

/** Starts below this many milliseconds are not worth a setting, however short the calls are. */
const MIN_START_MS = 10
/** The same for the only start of a registration, which may have had to load the program from disk. */
const MIN_FIRST_START_MS = 100

/** Returns true if starts cost enough beside calls to be mentioned; typical milliseconds of both. */
export const isCostlyStart = (startMs: number, callMs: number): boolean => startMs >= MIN_START_MS && startMs > callMs

/** Returns true if the first start looks as if starts will cost more than calls; milliseconds. */
export const isCostlyFirstStart = (startMs: number, listsMs: number): boolean =>
  startMs >= MIN_FIRST_START_MS && startMs > listsMs

/** Formats milliseconds: `4 ms`, `812 ms`, `2.4 s`. */
const time = (ms: number): string => {
  if (ms < 1) return 'less than 1 ms'
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}

/** Returns the figures for people, in lower case: `starting a process takes 61 ms, a call 4 ms`. */
export function startCostText(transport: string, { start_ms, call_ms, lists_ms }: StartCost): string {
  const start = transport === 'stdio' ? 'starting a process' : 'opening a session'
  return call_ms === undefined
    ? `${start} took ${time(start_ms)}, reading the lists ${time(lists_ms ?? 0)}`
    : `${start} takes ${time(start_ms)}, a call ${time(call_ms)}`
}

const benefits: Readonly<Record<KeepingMode, string>> = {
  stateful: 'keeps one for each client',
  shared: 'shares one between all, if it keeps nothing of anybody'
}

/** Returns the commands that change the mode of a server, each with what it does. */
export const modeCommands = (server: string, { session_modes }: StartCost): string =>
  session_modes
    .map((mode) => `\`${PRODUCT} update server ${server} --session-mode ${mode}\` ${benefits[mode]}`)
    .join('; ')

/** Warns about a server whose starts cost more than its calls: a result of the checks of `doctor` and Diagnostics. */
export const startCostCheck = (server: string, transport: string, cost: StartCost) => ({
  id: `starts:${server}`,
  status: 'warn' as const,
  title: `${server}: ${startCostText(transport, cost)}`,
  hint: modeCommands(server, cost)
})
