import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Longer than any pause between rounds. */
const KEEP_ALIVE_MS = 600_000

/** Listens on a free port, sends the port to the parent process, and ends with the parent. */
export function listen(server: Server): void {
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.listen(0, '127.0.0.1', 4_096, () => process.send!({ port: (server.address() as AddressInfo).port }))
  process.on('disconnect', () => process.exit())
}
