// One attacker as a process of its own: `attacker.ts client|visitor|nobody <port> [token]`, until it is ended.
import { setTimeout as delay } from 'node:timers/promises'
import { ofClient, ofVisitor, type Burst } from './bursts.ts'

const [, , kind = '', port = '', token] = process.argv
const PAUSE_MS = 250

/** Takes as much of the CPU as an attacker does, and sends nothing. */
const nobody: Readonly<Record<string, Burst>> = {
  async nothing() {
    for (const end = performance.now() + 400; performance.now() < end;);
  }
}
const bursts = { client: ofClient, visitor: ofVisitor, nobody }[kind]
if (!bursts) throw new Error(`no such attacker: ${kind}`)

process.once('disconnect', () => process.exit())
for (;;) {
  for (const [name, burst] of Object.entries(bursts)) {
    await burst({ port: Number(port), token }).catch(() => {})
    process.send?.(name)
    await delay(PAUSE_MS)
  }
}
