import { createServer, type Server } from 'node:net'

/** Below the system's ephemeral range, from which connections take ports at any time. */
const FIRST = 20_000
const RANGE = 200
const RANGES = 60

/** Listens on a port of the loopback interface; undefined if the port is in use. */
function listen(port: number): Promise<Server | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined)).listen(port, '127.0.0.1', () => resolve(server))
  })
}

/** Ports of a range that only this process takes: it listens on the range's first port until it ends. */
async function* ownPorts(): AsyncGenerator<number, never> {
  // many processes start at once: each begins its search elsewhere
  for (let at = process.pid, taken = 0; taken < RANGES; at++) {
    const first = FIRST + (at % RANGES) * RANGE
    const guard = await listen(first)
    taken = guard ? 0 : taken + 1
    guard?.unref()
    for (let port = first + 1; guard && port < first + RANGE; port++) yield port
  }
  throw new Error('no range of ports is free')
}

const ports = ownPorts()

/** Returns a port that no other process of the tests takes, and nothing listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const { value: port } = await ports.next()
    const server = await listen(port)
    if (!server) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
