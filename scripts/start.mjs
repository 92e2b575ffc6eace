// `npm start`: builds the changed sources, then runs the gateway in the same process, so that it receives the signals
// sent to npm; a shell between the two would exit alone.
import { join } from 'node:path'

const parent = process.ppid
await import('./build-if-stale.mjs')
if (process.exitCode) process.exit()
// npm ended during the build
if (process.ppid !== parent) process.exit(1)

const main = join(import.meta.dirname, '../dist/src/cli/main.js')
process.argv.splice(1, 1, main, 'start')
await import(main)
