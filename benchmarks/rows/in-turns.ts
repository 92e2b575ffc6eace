import { times } from '../requests.ts'

/** Concurrent writes while a gateway is filled. */
const ABREAST = 8

/** Calls `work` with 0, 1, … below `count`, eight at a time. */
export async function inTurns(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(times(ABREAST, worker))
}
