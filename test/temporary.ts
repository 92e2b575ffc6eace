import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
const NEEDED_BYTES = 2 * 2 ** 30

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= NEEDED_BYTES
  } catch {
    return false
  }
}

/**
 * Returns the folder for the stores of tests, which are not needed after the run: in memory if there is room, a quarter
 * faster.
 */
export const storesFolder = () => (hasRoom(MEMORY) ? MEMORY : tmpdir())
