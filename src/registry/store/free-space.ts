import { statfs } from 'node:fs/promises'
import { DISK_FULL, codedError } from './failures.ts'

/** Free space that the store needs: PostgreSQL stops if it cannot create its next WAL segment of 16 MiB. */
export const MIN_FREE_BYTES = 20 * 2 ** 20
/** Time for which a figure of the file system is used again */
const TTL_MS = 500

export const diskFullError = () => codedError(DISK_FULL, 'no room is left beside the embedded store')

/**
 * Returns a function that rejects with the code of a full disk while less than `bytes` are free in the file system of
 * `folder`, which must exist.
 */
export function createSpaceCheck(folder: string, bytes: number): () => Promise<void> {
  let last = { at: -Infinity, isEnough: true }
  return async () => {
    if (performance.now() - last.at >= TTL_MS) {
      const { bavail, bsize } = await statfs(folder)
      last = { at: performance.now(), isEnough: bavail * bsize >= bytes }
    }
    if (!last.isEnough) throw diskFullError()
  }
}
