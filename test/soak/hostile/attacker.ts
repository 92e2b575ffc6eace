// One attacker as a process of its own: `attacker.ts client|caller|visitor|nobody <port> <seed> <servers> [token]`, until it is ended.
import { setTimeout as delay } from 'node:timers/promises'
import { createRandom } from '../../fuzz/random.ts'
import { ofCaller, ofClient } from './client-bursts.ts'
import { allServers, callableOf } from './hostile-tools.ts'
import { ofVisitor } from './visitor-bursts.ts'
import type { Burst } from './wire.ts'

const [, , kind = '', port = '', seed = '', servers = allServers.join(), token] = process.argv
const PAUSE_MS = 250
const LONGEST_MS = 6_000
const CALLER_LANES = 5

/** Takes as much of the CPU as an attacker does, and sends nothing. */
const ofNobody: Readonly<Record<string, Burst>> = {
  async nothing() {
    for (const end = performance.now() + 400; performance.now() < end;);
  }
}
const kinds = {
  client: ofClient,
  caller: ofCaller(callableOf(servers.split(','))),
  visitor: ofVisitor,
  nobody: ofNobody
}
const bursts = Object.entries(kinds[kind as keyof typeof kinds])
const random = createRandom(Number(seed))
let left: typeof bursts = []

/** Makes one attack after the other: each once, in another order at each round. */
async function lane(): Promise<void> {
  for (;;) {
    if (left.length === 0) left = [...bursts]
    const [[name, burst]] = left.splice(random.below(left.length), 1) as [[string, Burst]]
    await Promise.race([burst({ port: Number(port), token }).catch(() => {}), delay(LONGEST_MS)])
    process.send?.(name)
    await delay(PAUSE_MS)
  }
}

process.once('disconnect', () => process.exit())
// most attacks by calls wait for their time to be over
await Promise.all(Array.from({ length: kind === 'caller' ? CALLER_LANES : 1 }, lane))
