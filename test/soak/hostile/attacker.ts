// Runs one attacker as a separate process: `attacker.ts client|caller|visitor|nobody <port> <seed> <servers> [token]`,
// until it is ended.
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

/** Uses as much CPU as an attacker, and sends nothing. */
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

/** Runs the attacks one by one: each once per round, in a different order in each round. */
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
// most attacks by calls spend their time waiting for a time-out
await Promise.all(Array.from({ length: kind === 'caller' ? CALLER_LANES : 1 }, lane))
