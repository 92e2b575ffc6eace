/** Value with undo steps. Steps that change nothing are not recorded. */
export interface History<T> {
  readonly now: T
  readonly past: readonly T[]
}

/** Maximum number of undo steps. */
const MAX_STEPS = 200

export const startHistory = <T>(now: T): History<T> => ({ now, past: [] })

export const addStep = <T>({ now, past }: History<T>, next: T): History<T> =>
  next === now ? { now, past } : { now: next, past: [...past, now].slice(-MAX_STEPS) }

export const undo = <T>({ now, past }: History<T>): History<T> => {
  const last = past.at(-1)
  return last === undefined ? { now, past } : { now: last, past: past.slice(0, -1) }
}
