import type { Caller } from '../catalog/caller.ts'
import { isAuditor } from '../domain/access/access.ts'
import { isCostlyFirstStart, isCostlyStart, KEEPING_MODES, type StartCost } from '../domain/start-cost.ts'
import type { DiscoveryTimings, ServerConfig } from '../registry/model/model.ts'
import type { StartTimes } from '../upstream/sessions/start-meter.ts'

/** Member of records of servers whose starts cost more than what they are started for. */
export interface StartCostRecord {
  readonly start_cost?: StartCost
}

const rounded = (ms: number) => Math.round(ms * 10) / 10

/** Adds the modes to offer; a mode that the gateway refuses for a server has to be left out here. */
const costOf = (figures: Omit<StartCost, 'session_modes'>): StartCost => ({ ...figures, session_modes: KEEPING_MODES })

/** Returns the cost of starts beside calls; nothing if it is small or not known yet. */
export const costOfCalls = (times: StartTimes | undefined): StartCostRecord =>
  times && isCostlyStart(times.startMs, times.callMs)
    ? { start_cost: costOf({ start_ms: rounded(times.startMs), call_ms: rounded(times.callMs) }) }
    : {}

/** Returns the same for administrators and auditors; nothing for users, as the other figures of calls. */
export const costOfCallsFor = (caller: Caller, times: StartTimes | undefined): StartCostRecord =>
  isAuditor(caller) ? costOfCalls(times) : {}

/** Returns the cost of a process's start at a registration beside reading the lists, if each call will start one. */
export function costOfRegistration(
  { transport, session_mode }: Pick<ServerConfig, 'transport' | 'session_mode'>,
  timings: DiscoveryTimings | undefined
): StartCostRecord {
  if (!timings || transport !== 'stdio' || session_mode !== 'stateless') return {}
  const startMs = (timings.start ?? 0) + timings.initialize
  if (!isCostlyFirstStart(startMs, timings.lists)) return {}
  return { start_cost: costOf({ start_ms: rounded(startMs), lists_ms: rounded(timings.lists) }) }
}
