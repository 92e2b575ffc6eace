import type { BackoffPolicy } from '../../lib/backoff.ts'

/** Delays before a lost notification stream of an upstream is opened again. */
export const RECONNECTION: BackoffPolicy = { firstMs: 1_000, longestMs: 30_000, stableMs: 30_000 }
