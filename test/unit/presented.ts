import type { PresentedToken } from '../../src/identity/token-cache.ts'
import { hashToken } from '../../src/lib/tokens.ts'

/** Returns a token as a connection presents it. */
export const presented = (token: string): PresentedToken => ({ token, hash: hashToken(token) })
