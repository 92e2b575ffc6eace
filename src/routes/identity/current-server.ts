import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { createClientDocuments, DOCUMENT_LIMITS } from '../../authorization-server/client-documents.ts'
import { createKeySetFetch } from '../../lib/key-set-fetch.ts'
import { createAuthorizationServer, grantHash, type AuthorizationServer } from '../../authorization-server/provider.ts'
import { createAssertions } from './id-jag.ts'

const HOUR_MS = 3_600_000
/** Limit for the public keys of an MCP client. */
const KEY_SET_BYTES = 65_536

const actorOf = (name: string) => ({ kind: 'system' as const, name })

/** Keeps one authorization server for the current signing keys; makes and renews the keys. */
export function createServers(app: FastifyInstance, { auth, publicUrl }: Pick<Config, 'auth' | 'publicUrl'>) {
  const identity = app.identity!
  let known: { readonly kids: string; readonly server: Promise<AuthorizationServer> } | undefined
  const ensureKeys = () =>
    app.registry.write(
      { actor: actorOf('authorization server'), action: 'signing_key.create', target: 'ES256' },
      (tx) => tx.signingKeys.ensure()
    )
  const endGrant = async (grantId: string) => {
    const change = { actor: actorOf('authorization server'), action: 'oauth.grant_end', target: 'grant' }
    await app.registry.write(change, (tx) => tx.oauthGrants.end([grantHash(grantId)]))
  }
  const isActive = (userId: string) => app.gateway.people.user(userId)?.active === true
  const { bytes, timeoutMs } = DOCUMENT_LIMITS
  const documents = createClientDocuments({
    fetch: (url, init) => app.gateway.fetchFor(undefined, bytes, timeoutMs)(url, init),
    hosts: auth.cimdHosts,
    redirectSchemes: auth.redirectSchemes
  })
  const keysOf = createKeySetFetch((url, init) => app.gateway.fetchFor(url, KEY_SET_BYTES)(url, init))
  /** An administrator registered the addresses of key sets, and a stranger those of all other documents. */
  const read = (url: string, init: RequestInit | undefined) =>
    app.gateway.principals.clients.hasKeysAt(url) ? keysOf(url, init) : documents.open(url, init)
  const assertions = createAssertions(app, { auth, publicUrl })
  const create = async (): Promise<AuthorizationServer> => {
    const keys = await app.registry.signingKeys()
    return createAuthorizationServer({
      publicUrl: publicUrl!,
      auth,
      keys: keys.map(({ jwk }) => jwk),
      records: () => app.registry.oauthRecords,
      policyScopes: () => app.gateway.policies.scopes(),
      usedAssertions: { use: (assertion) => app.registry.usedAssertions.use(assertion) },
      mcpClient: app.gateway.principals.clients.find,
      assertions,
      keyFor: identity.keyFor,
      isActive,
      signInsValidFrom: (userId) => app.gateway.people.user(userId)?.sessionsValidFrom ?? 0,
      mayRefresh: (userId) => isActive(userId) && identity.hasFreshClaims(userId),
      documents,
      fetch: read,
      onGrantEnded: endGrant,
      onError: (err) => app.log.error({ err }, 'the authorization server failed'),
      warn: (text) => app.log.debug({ text }, 'the library of the authorization server printed a warning')
    })
  }
  const renewal = setInterval(() => {
    ensureKeys().catch((err: unknown) => app.log.error({ err }, 'the signing keys could not be renewed'))
  }, HOUR_MS).unref()
  app.addHook('onClose', async () => clearInterval(renewal))
  return async (): Promise<AuthorizationServer> => {
    if (app.gateway.signingKeys.length === 0) await ensureKeys()
    const kids = app.gateway.signingKeys.map(({ kid, signsFrom }) => `${kid} ${signsFrom <= Date.now()}`).join()
    if (known?.kids !== kids) {
      const server = create()
      known = { kids, server }
      server.catch(() => (known = undefined))
    }
    return known.server
  }
}
