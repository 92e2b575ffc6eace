import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { BrowserSession } from '../../identity/browser-sessions.ts'
import { AppError } from '../../lib/errors.ts'

/** Routes of the pages on which people sign in. */
export const signInPage = { access: 'public', errorPage: 'You are not signed in' } as const

/** Requests per minute to each of the pages: one address or IPv6 /64 network, and all. */
export const SIGN_IN_RATE = { perKey: 30, inAll: 600 } as const

const MAX_RETURN = 2_048

/** Returns the path where people go who signed in without a wish: the console, if there is one. */
export const homePath = ({ console }: Pick<Config, 'console'>): string => (console ? '/console/' : '/auth/session')

/**
 * Returns a path of the gateway itself to go to after the sign-in: never another site, whatever spelling browsers
 * accept; `home` for anything else.
 */
export function returnPath(given: string | undefined, home: string): string {
  const isPath = given !== undefined && given.length <= MAX_RETURN && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(given)
  return isPath ? given : home
}

/** Returns a function that puts the path of the public URL before a path. */
export const createPathTo = (publicUrl: string) => {
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '')
  return (path: string): string => `${prefix}${path}`
}

/**
 * Throws a 403 AppError for a session that began with an access token: a program that it lets in would go on for weeks
 * after the hour.
 */
export function requireLastingSession({ method }: BrowserSession): void {
  if (method !== 'break_glass') return
  throw new AppError(403, 'You are signed in with an access token for an hour, which lets no program in.')
}

/** Adds an audit row for a sign-in that was refused. `target`: the user, if it is known. */
export const recordRefusal = (
  app: FastifyInstance,
  request: FastifyRequest,
  reason: string,
  target = 'sign-in'
): void =>
  app.registry.recordRefusal({
    actor: { kind: 'anonymous', name: '' },
    action: 'session.refused',
    target,
    reason,
    address: request.address,
    requestId: request.id
  })
