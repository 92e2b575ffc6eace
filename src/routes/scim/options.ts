import type { FastifyRequest } from 'fastify'
import type { Change } from '../../registry/model/model.ts'
import type { RoleOf } from '../../registry/repositories/scim-memberships.ts'

/** Routes of the SCIM client: its token is checked for all of them, and errors are those of SCIM (RFC 7644 3.12). */
export const scimRoute = { access: 'public', errorFormat: 'scim' } as const

export interface ScimOptions {
  /** URL of the SCIM routes. */
  readonly base: string
  /** Issuer whose subjects the client may use as external ids. */
  readonly issuer: string
  readonly roleOf: RoleOf
  /** Describes a change by the SCIM client for the audit log. */
  readonly changeOf: (request: FastifyRequest, action: string, target: string) => Change
}
