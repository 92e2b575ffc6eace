/** Results of the requests of each kind. */
export interface Tally {
  recordAnswer(kind: string): void
  /** Counts a refusal that a fault explains. */
  recordRefusal(kind: string): void
  /** Counts a missing, mismatched or unexplained response. */
  recordLoss(kind: string, why: unknown): void
  readonly lostCount: number
  table(): Record<string, { answered: number; refused: number; lost: number }>
  reasons(): string[]
}

const KEPT = 20

export function createTally(): Tally {
  const counts = new Map<string, { answered: number; refused: number; lost: number }>()
  const reasons: string[] = []
  let lostCount = 0
  const of = (kind: string) => {
    if (!counts.has(kind)) counts.set(kind, { answered: 0, refused: 0, lost: 0 })
    return counts.get(kind)!
  }
  return {
    recordAnswer: (kind) => void of(kind).answered++,
    recordRefusal: (kind) => void of(kind).refused++,
    recordLoss(kind, why) {
      of(kind).lost++
      lostCount++
      if (reasons.length < KEPT) reasons.push(`${kind}: ${String(why).slice(0, 300)}`)
    },
    get lostCount() {
      return lostCount
    },
    table: () => Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))),
    reasons: () => reasons
  }
}
