import type { Configuration, KoaContextWithOIDC } from 'oidc-provider'
import type { AuthConfig } from '../config/config.ts'
import { canonicalResource, resourceOf, scopesOf } from '../http/resources.ts'
import { DOCUMENT_LIFE, type ClientDocuments } from './client-documents.ts'
import { commandLine } from './command-line.ts'
import { CLIENT_CREDENTIALS } from './mcp-clients.ts'

type Library = typeof import('oidc-provider')

export interface FeatureOptions {
  /** Public URL of the gateway, which is the issuer; without a slash at the end. */
  readonly publicUrl: string
  readonly auth: Pick<AuthConfig, 'dcr' | 'cimd' | 'accessTokenMs' | 'refreshTokenMs'>
  readonly documents: Pick<ClientDocuments, 'prepare'>
  /** Scopes that policies require at the moment. */
  readonly policyScopes: () => readonly string[]
}

/** Client ID Metadata Documents: read and checked by ourselves, cached by the library. */
function createDocumentFeature({ auth, documents }: FeatureOptions, { errors }: Library) {
  return {
    enabled: auth.cimd,
    ack: 'draft-02',
    allowFetch: async (context: KoaContextWithOIDC | undefined, clientId: string) => {
      const found = await documents.prepare(clientId, context?.ip ?? '')
      if (found === undefined) return true
      // clients forget what they have got when they are told "invalid_client"
      const ErrorClass = found.isTemporary ? errors.TemporarilyUnavailable : errors.InvalidClient
      throw new ErrorClass(`the document of the client cannot be used: ${found.problem}`)
    },
    cacheDuration: DOCUMENT_LIFE
  } as const
}

/** Returns the features of the library: what it would announce by itself and the gateway does not enforce is off. */
export function createFeatures(options: FeatureOptions, library: Library): Configuration['features'] {
  const { publicUrl, auth, policyScopes } = options
  const { errors } = library
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    registration: { enabled: auth.dcr !== 'off', initialAccessToken: false, issueRegistrationAccessToken: false },
    // the page for the code is ours
    deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****' },
    clientIdMetadataDocument: createDocumentFeature(options, library),
    resourceIndicators: {
      enabled: true,
      defaultResource: (_context, { clientId }, oneOf) =>
        oneOf?.[0] ?? resourceOf(publicUrl, clientId === commandLine.id ? '/api' : '/mcp'),
      useGrantedResource: () => true,
      getResourceServerInfo: ({ oidc }, resource, { scope }) => {
        const canonical = canonicalResource(publicUrl, resource)
        const scopes = canonical === undefined ? [] : scopesOf(publicUrl, canonical)
        const registered = scope?.split(' ')
        const isOther = registered !== undefined && !scopes.some((each) => registered.includes(each))
        if (canonical === undefined || isOther)
          throw new errors.InvalidTarget('this is no endpoint of the gateway for the client')
        return {
          // no person can be asked for more rights of a client that acts as itself
          scope: [...scopes, ...(oidc.params?.['grant_type'] === CLIENT_CREDENTIALS ? [] : policyScopes())].join(' '),
          audience: canonical,
          accessTokenTTL: auth.accessTokenMs / 1_000,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } }
        }
      }
    }
  }
}
