// `npm start`: builds what has changed and becomes the gateway, in one process. A signal to npm reaches it that way: a
// shell between the two would end alone.
import { join } from 'node:path'

const parent = process.ppid
await import('./build-if-stale.mjs')
if (process.exitCode) process.exit()
// nobody waits any more: npm was ended during the build
if (process.ppid !== parent) process.exit(1)

const main = join(import.meta.dirname, '../dist/src/cli/main.js')
process.argv.splice(1, 1, main, 'start')
await import(main)
