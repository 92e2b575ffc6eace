/**
 * Returns the index of the worker that serves an id. The end of an id is random, so each worker can issue ids that lead
 * back to it, and an id of any other origin leads to the same worker each time.
 */
export function ownerOf(id: string, workers: number): number {
  // the last character of base64url holds only a few bits; an id that is too short belongs to worker 0
  const end = id.length - 1
  return (((id.charCodeAt(end - 1) * 31 + id.charCodeAt(end - 2)) * 31 + id.charCodeAt(end - 3)) % workers) | 0
}

/** Tests if an id leads to this worker. */
export type OwnsId = (id: string) => boolean

/** For a process without other workers. */
export const ownsEveryId: OwnsId = () => true

/** Calls `make` until its id leads to this worker: as often as there are workers, on average. */
export function makeOwned(make: () => string, owns: OwnsId): string {
  for (;;) {
    const id = make()
    if (owns(id)) return id
  }
}
