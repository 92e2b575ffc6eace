import type { FastifyRequest } from 'fastify'
import type { AuthConfig } from '../config/config.ts'
import type { Access } from '../domain/access/access.ts'
import { formatChallenge, metadataAddress } from '../domain/access/challenge.ts'
import { resourceOf } from './resources.ts'

/** Challenges of refused requests (RFC 6750 3, RFC 9728 5.1). */
export interface Challenges {
  /** Address of the endpoint that the request is for, which a token must name as its audience. */
  resourceFor(request: FastifyRequest): string | undefined
  /** Returns the value of `WWW-Authenticate`. */
  of(request: FastifyRequest, access: Access, error?: string, scope?: string): string
}

const pathOf = (url: string) => (url.includes('?') ? url.slice(0, url.indexOf('?')) : url)

/** Returns the path of the endpoint to which a path belongs: messages of HTTP+SSE have one of their own. */
const endpointPath = (path: string) => (path.endsWith(MESSAGES) ? `${path.slice(0, -MESSAGES.length)}/sse` : path)
const MESSAGES = '/message'

/** Endpoint of REST, which takes tokens of the gateway's own authorization server only. */
const API = '/api'

/** Creates the challenges; those of a gateway where people sign in lead to the metadata of the very endpoint. */
export function createChallenges(
  { way, external }: Pick<AuthConfig, 'way' | 'external'>,
  publicUrl: string | undefined
): Challenges {
  const base = way === 'tokens' ? undefined : publicUrl
  // the provider knows no scope of the gateway
  const scopes = external ? external.scopes : ['mcp']
  const endpointOf = ({ routeOptions, url }: FastifyRequest): string | undefined => {
    if (routeOptions.config.access === 'client') return endpointPath(pathOf(url))
    return url.startsWith(`${API}/`) && !external ? API : undefined
  }
  const scopeFor = (access: Access) =>
    access === 'client' && base !== undefined && scopes.length > 0 ? scopes.join(' ') : undefined
  return {
    resourceFor(request) {
      const path = base === undefined ? undefined : endpointOf(request)
      return path === undefined ? undefined : resourceOf(base!, path)
    },
    of(request, access, error, scope = scopeFor(access)) {
      const path = base === undefined ? undefined : endpointOf(request)
      const metadata = path === undefined ? undefined : metadataAddress(base!, path)
      return formatChallenge({ error, scope, metadata })
    }
  }
}
