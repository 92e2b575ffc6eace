import { setTimeout as delay } from 'node:timers/promises'
import type { FaultProxy } from '../fixtures/fault-proxy.ts'

type Fault = (proxy: FaultProxy) => Promise<void>

const during =
  (ms: number, faults: FaultProxy['faults']): Fault =>
  async (proxy) => {
    proxy.faults = faults
    await delay(ms)
    proxy.faults = {}
  }

const faults: Readonly<Record<string, Fault>> = {
  'every connection is reset': async (proxy) => proxy.reset(),
  'answers come late': during(4_000, { delayMs: 150 }),
  'answers drip': during(4_000, { drip: { bytes: 200, everyMs: 20 } }),
  'connections are reset within an answer': during(3_000, { resetAfterBytes: 700 }),
  'nothing passes': async (proxy) => {
    proxy.freeze()
    await delay(3_000)
    proxy.thaw()
  },
  'nobody is there': async (proxy) => {
    await proxy.cut()
    await delay(2_000)
    await proxy.mend()
  }
}

/** Injects one fault after the other at alternating proxies, each followed by a pause without faults. */
export async function injectFaults(proxies: Readonly<Record<string, FaultProxy>>, stop: AbortSignal): Promise<number> {
  const pairs = Object.keys(faults).flatMap((fault) => Object.keys(proxies).map((place) => [fault, place] as const))
  let injected = 0
  while (!stop.aborted) {
    const [fault, place] = pairs[injected++ % pairs.length]!
    await faults[fault]!(proxies[place]!)
    await delay(5_000, undefined, { signal: stop }).catch(() => {})
  }
  return injected
}
