import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AuditFilter, AuditPage } from '../schemas/audit.ts'
import { ref } from '../schemas/shared.ts'

/** Routes of the audit log (security-model.md#audit). Read-only: no route changes or deletes an entry. */
export const audit: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/audit',
    {
      config: { access: 'auditor' },
      schema: {
        tags: ['audit'],
        operationId: 'listAuditEntries',
        summary: 'List audit log entries',
        querystring: AuditFilter,
        response: { 200: ref(AuditPage) }
      }
    },
    async (request) => {
      const { limit = 100, ...filter } = request.query
      const rows = await app.registry.audit({ ...filter, limit: limit + 1 })
      const entries = rows.slice(0, limit)
      return { entries, ...(rows.length > limit ? { next_before: entries.at(-1)!.id } : {}) }
    }
  )
}
