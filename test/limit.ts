import { createHook } from 'node:async_hooks'
import { before } from 'node:test'

/** The runner's root test: every test of a file inherits its limit unless it sets its own. */
interface Root {
  timeout?: number
  /** Node 22 and newer: command line options, which take precedence. */
  config?: { timeout?: number }
}

/** Node does not expose the root test; it is created with the first hook or test. */
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
 * Preloaded for a test file (`--import`): a test that takes longer than `TEST_LIMIT_MS` fails by its own name, and the
 * following ones run. `--test-timeout` would end the whole file, and Node 20 does not report the test.
 */
function limitTests(limitMs: number): void {
  const root = makeRoot()
  root.timeout = limitMs
  if (root.config) root.config.timeout = limitMs
}

// the runner's own process has no tests
if (process.env.NODE_TEST_CONTEXT) limitTests(Number(process.env.TEST_LIMIT_MS ?? 300_000))
