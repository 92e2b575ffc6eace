import type { FastifyBaseLogger } from 'fastify'
import { networkOf } from '../domain/network/client-address.ts'
import { createRateLimiter } from '../domain/rates.ts'

/** Log lines per minute, per address and in total. */
const LINES = { perKey: 10, inAll: 200 }
/** Wrong tokens per minute, in total, that are answered with 401. */
const IN_ALL = 10_000

/** Counts requests with a wrong access token. Requests with a valid token are not affected. */
export interface FailedLogins {
  /**
   * Records a failure. Returns the seconds until the next attempt if the address exceeded its limit, else undefined.
   */
  record(address: string): number | undefined
}

/** `perAddress`: wrong tokens per minute from one address or IPv6 /64 network. */
export function createFailedLogins(
  log: Pick<FastifyBaseLogger, 'warn'>,
  perAddress: number,
  now?: () => number
): FailedLogins {
  const clock = now ? { now } : {}
  const failures = createRateLimiter({ perKey: perAddress, inAll: IN_ALL, ...clock })
  const lines = createRateLimiter({ ...LINES, ...clock })
  const startWindow = () => {
    failures.startWindow()
    const count = lines.startWindow().reduce((sum, surplus) => sum + surplus.count, 0)
    if (count > 0) log.warn({ count }, 'more requests without a valid access token were refused')
  }
  return {
    record(address) {
      if (failures.remainingMs() <= 0) startWindow()
      const network = networkOf(address)
      if (lines.admit(network)) log.warn({ address }, 'a request without a valid access token was refused')
      return failures.admit(network) ? undefined : Math.max(1, Math.ceil(failures.remainingMs() / 1_000))
    }
  }
}
