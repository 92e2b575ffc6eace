import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Longer than any pause between rounds. */
const KEEP_ALIVE_MS = 600_000

/** Listens on a free port and tells the parent process which, then ends with it. */
export function listen(server: Server): void {
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.listen(0, '127.0.0.1', 4_096, () => process.send!({ port: (server.address() as AddressInfo).port }))
  process.on('disconnect', () => process.exit())
}
