import type { FastifyRequest } from 'fastify'
import { networkOf } from '../domain/network/client-address.ts'
import { createRateLimiter, type RateOptions } from '../domain/rates.ts'
import { AppError } from '../lib/errors.ts'

/** Returns a function that rejects requests beyond a rate, by address or IPv6 /64 network, with a 429 AppError. */
export function createLimit(rate: Pick<RateOptions, 'perKey' | 'inAll'>): (request: FastifyRequest) => void {
  const limiter = createRateLimiter(rate)
  return ({ address }) => {
    if (limiter.remainingMs() <= 0) limiter.startWindow()
    if (limiter.admit(networkOf(address))) return
    const retryAfter = Math.max(1, Math.ceil(limiter.remainingMs() / 1_000))
    throw new AppError(429, 'too many requests came from this address', { retryAfter })
  }
}
