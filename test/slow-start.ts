import { fileURLToPath } from 'node:url'

const good = fileURLToPath(new URL('./fixtures/stdio/good.mjs', import.meta.url))

/** Milliseconds that the servers of these tests need to start: many times what a call needs on a busy machine. */
export const START_MS = 1_500

/** Registration of a well-behaved stdio server that starts slowly. */
export const slowToStart = (name: string) => ({
  name,
  transport: 'stdio',
  command: 'sh',
  args: ['-c', `sleep ${START_MS / 1_000}; exec "$0" "$1"`, process.execPath, good]
})

/** Calls that are enough to know what starts cost. */
export const ENOUGH_CALLS = 5
