import { createHook } from 'node:async_hooks'
import { before } from 'node:test'

/** What every test of a file is below: it has the limit of those that say nothing of one. */
interface Root {
  timeout?: number
  /** Node 22 and newer: what the command line says, which goes before. */
  config?: { timeout?: number }
}

/** Node shows the root to nobody; it is made with the first hook or test. */
function makeRoot(): Root {
  const made: Root[] = []
  const watch = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'Test') made.push(resource)
    }
  }).enable()
  before(() => {})
  watch.disable()
  return made[0]!
}

/**
 * Loaded in front of a test file (`--import`): a test that takes longer than `TEST_LIMIT_MS` fails by its own name, and
 * those behind it run. `--test-timeout` ends the file, and Node 20 does not say at which test.
 */
function limitTests(limitMs: number): void {
  const root = makeRoot()
  root.timeout = limitMs
  if (root.config) root.config.timeout = limitMs
}

// what starts the files has no tests of its own
if (process.env.NODE_TEST_CONTEXT) limitTests(Number(process.env.TEST_LIMIT_MS ?? 300_000))
