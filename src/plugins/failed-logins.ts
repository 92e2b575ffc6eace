import type { FastifyBaseLogger } from 'fastify'
import { networkOf } from '../domain/client-address.ts'
import { createRates } from '../domain/rates.ts'

/** Log lines a minute about one address, and in all. */
const LINES = { perKey: 10, inAll: 200 }
/** Wrong tokens a minute in all that are answered with 401. */
const IN_ALL = 10_000

/** Counts requests with a wrong access token. Nothing here concerns requests whose token is good. */
export interface FailedLogins {
  /** Notes one of an address. Seconds until it is worth another try where the address has had too many; else undefined. */
  note(address: string): number | undefined
}

/** `perAddress`: wrong tokens a minute of one address, or of one IPv6 network of 64 bits. */
export function createFailedLogins(
  log: Pick<FastifyBaseLogger, 'warn'>,
  perAddress: number,
  now?: () => number
): FailedLogins {
  const clock = now ? { now } : {}
  const failures = createRates({ perKey: perAddress, inAll: IN_ALL, ...clock })
  const lines = createRates({ ...LINES, ...clock })
  const begin = () => {
    failures.settle()
    const count = lines.settle().reduce((sum, surplus) => sum + surplus.count, 0)
    if (count > 0) log.warn({ count }, 'more requests without a valid access token were refused')
  }
  return {
    note(address) {
      if (failures.remaining() <= 0) begin()
      const network = networkOf(address)
      if (lines.admits(network)) log.warn({ address }, 'a request without a valid access token was refused')
      return failures.admits(network) ? undefined : Math.max(1, Math.ceil(failures.remaining() / 1_000))
    }
  }
}
