import type { FastifyInstance } from 'fastify'
import type { Assertions } from '../../authorization-server/id-jag-grant.ts'
import type { Config } from '../../config/config.ts'
import { createIdJagVerifier, type IdJag } from '../../identity/id-jag.ts'
import { createUserOf } from '../../identity/known-people.ts'
import { personOf } from '../../identity/person.ts'
import { createTrustedIssuer } from '../../identity/trusted-issuer.ts'
import { createApprovalCheck } from './client-approval.ts'

/** Limit for the metadata and for the keys of an issuer. */
const ISSUER_BYTES = 1_048_576

/** Returns the assertions that the settings allow; undefined if there are none. */
export function createAssertions(
  app: FastifyInstance,
  { auth, publicUrl }: Pick<Config, 'auth' | 'publicUrl'>
): Assertions<IdJag> | undefined {
  const { oidc, idJagIssuers } = auth
  if (!oidc || idJagIssuers.length === 0) return undefined
  const issuers = idJagIssuers.map((issuer) =>
    createTrustedIssuer({ issuer, request: (url, init) => app.gateway.fetchFor(issuer, ISSUER_BYTES)(url, init) })
  )
  const userOf = createUserOf({ provider: oidc, registry: () => app.registry, action: 'oauth.assertion' })
  const requireApproval = createApprovalCheck(auth, () => app.gateway.registeredClients)
  return {
    async checkClient(client) {
      // an administrator made those
      if (!app.gateway.principals.clients.find(client.clientId)) await requireApproval(client)
    },
    verify: createIdJagVerifier({ audience: publicUrl!, issuers }),
    userOf: ({ issuer, claims }, address) => userOf(personOf(issuer, oidc, claims), { address }),
    onRefused: (reason, clientId, address) =>
      app.registry.recordRefusal({
        actor: { kind: 'anonymous', name: '' },
        action: 'oauth.assertion_refused',
        target: clientId,
        reason,
        address
      })
  }
}
