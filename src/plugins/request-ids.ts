import { randomBytes } from 'node:crypto'

/** Unique among starts and replicas: with what a caller was told, the lines and rows of its request are found. */
export function createRequestIds(): () => string {
  const start = randomBytes(6).toString('base64url')
  let count = 0
  return () => `${start}-${(++count).toString(36)}`
}
