import { randomBytes } from 'node:crypto'

/**
 * Returns a generator of request ids, unique across starts and replicas, which connect a caller's error with log lines
 * and rows.
 */
export function createRequestIds(): () => string {
  const start = randomBytes(6).toString('base64url')
  let count = 0
  return () => `${start}-${(++count).toString(36)}`
}
