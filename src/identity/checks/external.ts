import type { TrustedIssuer } from '../trusted-issuer.ts'
import { textsIn, type Document, type Finding } from './finding.ts'

/** Needs of MCP clients in a provider that is their authorization server (MCP authorization, Client registration). */
const checks: readonly ((metadata: Document) => Finding)[] = [
  (metadata) => {
    const id = 'external_registration'
    const hasDocuments = metadata['client_id_metadata_document_supported'] === true
    const names = [
      ...(hasDocuments ? ['client ID metadata documents'] : []),
      ...(typeof metadata['registration_endpoint'] === 'string' ? ['dynamic registration'] : [])
    ]
    if (names.length > 0)
      return { id, status: 'pass', title: `MCP clients can register at the provider: ${names.join(', ')}` }
    const title =
      'MCP clients cannot register at the provider: it has neither metadata documents nor dynamic registration'
    return { id, status: 'warn', title, hint: 'register each client there, or set TOWPATH_AUTH=embedded' }
  },
  (metadata) => {
    const id = 'external_pkce'
    if (textsIn(metadata['code_challenge_methods_supported'])?.includes('S256')) {
      return { id, status: 'pass', title: 'The provider announces PKCE with S256' }
    }
    const title = 'The provider does not announce PKCE with S256, without which MCP clients refuse to go on'
    return { id, status: 'warn', title, hint: 'set TOWPATH_AUTH=embedded, unless your clients are told to use it' }
  },
  (metadata) => {
    const id = 'external_resource'
    if (metadata['resource_indicators_supported'] === true) {
      return { id, status: 'pass', title: 'The provider announces resource indicators' }
    }
    const title = 'The provider does not announce resource indicators (RFC 8707)'
    const hint = 'see that its tokens name the endpoint or a value of TOWPATH_EXTERNAL_AUDIENCE as their audience'
    return { id, status: 'pass', title, hint }
  }
]

/** Checks what the provider lacks. Does not reject. */
export async function checkExternalProvider({ issuer, metadata }: TrustedIssuer): Promise<readonly Finding[]> {
  const id = 'external_metadata'
  try {
    const document = await metadata()
    return [
      { id, status: 'pass', title: `The metadata of ${issuer} was read` },
      ...checks.map((check) => check(document))
    ]
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    const hint = 'check TOWPATH_OIDC_ISSUER, the network and the egress policy'
    return [{ id, status: 'fail', title: `The metadata of ${issuer} cannot be read`, detail, hint }]
  }
}
