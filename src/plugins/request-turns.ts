import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { principalIdOf } from '../catalog/caller.ts'
import { networkOf } from '../domain/network/client-address.ts'
import { createCredentialMemo, type CredentialReader, type HashedToken } from '../http/connection-credentials.ts'
import { createRequestTurns } from '../http/request-turns.ts'
import { ifAvailable } from '../http/wait-for-database.ts'
import { createQuota } from '../lib/quota.ts'

/** Memory for waiting requests, and of one principal. */
const TOTAL_BYTES = 64 * 1024 * 1024
const PRINCIPAL_BYTES = TOTAL_BYTES / 4
/** Approximate memory of a request and its connection, without headers and body. */
const REQUEST_BYTES = 8_192
/** Part of a body that arrives with the headers or is read ahead. */
const MAX_READ_AHEAD = 65_536

export interface RequestTurnsPluginOptions {
  readonly mode: 'development' | 'enterprise'
  readonly readCredentials: CredentialReader
}

/** Returns the memory that a waiting request holds. Its body is not read yet, but for the first part. */
function bytesOf({ raw: { rawHeaders, headers } }: FastifyRequest): number {
  const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : MAX_READ_AHEAD
  return rawHeaders.reduce((sum, text) => sum + text.length, REQUEST_BYTES) + Math.min(length, MAX_READ_AHEAD)
}

/**
 * While the event loop is late, lets requests start in turns of their principals (docs/explanation/reliability.md). Runs
 * before authentication and before the body is read: refusals take turns too.
 */
export default fp<RequestTurnsPluginOptions>(
  async (app, { mode, readCredentials }) => {
    const limit = mode === 'enterprise' ? PRINCIPAL_BYTES : TOTAL_BYTES
    const turns = createRequestTurns({ bytes: createQuota(limit, TOTAL_BYTES) })
    const ids = createCredentialMemo<string>(() => app.gateway.principals.catalogIdentity)
    const principalOfToken = (credentials: HashedToken): string | undefined => {
      const kept = ids.find(credentials)
      if (kept !== undefined) return kept
      const { principals } = app.gateway
      const { hash } = credentials
      const listed = principals.callerOf(hash)
      const signedIn = listed ? undefined : (app.identity ?? app.external)?.accessTokens.verified(hash)
      const caller = listed ?? (signedIn && principals.signedInCaller(signedIn))
      if (!caller) return undefined
      const id = principalIdOf(caller.key)
      ids.keep(credentials, id)
      return id
    }
    /** Returns the principal of a token or session cookie that is already known to be valid. */
    const principalOf = (request: FastifyRequest, reply: FastifyReply): string | undefined => {
      const credentials = readCredentials(request.raw)
      if (credentials.kind === 'none') {
        const session = app.identity?.sessionOf(request, reply)
        return session && `user:${session.userId}`
      }
      return credentials.kind === 'token' ? principalOfToken(credentials) : undefined
    }
    /** Returns who a request is counted for: the principal, or the network of its address if it has none. */
    const keyOf = (request: FastifyRequest, reply: FastifyReply): string =>
      ifAvailable(() => principalOf(request, reply)) ?? `address ${networkOf(request.address)}`
    app.addHook('onRequest', (request, reply, done) => {
      if (turns.isOnTime() || request.routeOptions.config.alwaysServed) return done()
      const { raw: response } = reply
      const leave = turns.wait(keyOf(request, reply), bytesOf(request), (error) => {
        response.off('close', leave)
        done(error)
      })
      response.on('close', leave)
    })
  },
  { name: 'request-turns', dependencies: ['client-address', 'guard'] }
)
