import type { TestContext } from 'node:test'
import { createChildRegistry } from '../src/upstream/stdio/child-registry.ts'
import { createStderrTail } from '../src/upstream/stdio/stderr.ts'
import { createStdioClient } from '../src/upstream/stdio/stdio-client.ts'
import { createWatchdog } from '../src/upstream/stdio/watchdog.ts'

/** Returns a client of `node <args>`. Its processes end with the test. */
export function startStdioClient(
  t: TestContext,
  args: readonly string[],
  { env = {}, maxLineBytes = 1_048_576 }: { env?: Record<string, string>; maxLineBytes?: number } = {}
) {
  const children = createChildRegistry(createWatchdog)
  const client = createStdioClient({
    server: 'x',
    version: '1',
    command: 'node',
    args,
    env,
    gatewayEnv: process.env,
    cwd: undefined,
    uid: undefined,
    gid: undefined,
    limits: { maxLineBytes },
    log: { debug() {}, info() {}, warn() {} },
    tail: createStderrTail(),
    children
  })
  t.after(async () => {
    client.close()
    await children.closeAll()
  })
  return client
}
