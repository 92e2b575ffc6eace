import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { messageFor, type Caller } from '../catalog/caller.ts'
import { callerOf } from '../plugins/auth.ts'
import type { AuditEntry } from '../registry/model/model.ts'
import { AuditFilter, AuditPage } from '../schemas/audit.ts'
import { ref } from '../schemas/shared.ts'

/** Returns an entry as the caller may read it: what programs wrote on stderr is for administrators. */
function entryFor(caller: Caller, entry: AuditEntry): AuditEntry {
  const { reason, after } = entry
  const failure = after?.save_failure
  return {
    ...entry,
    ...(reason === undefined ? {} : { reason: messageFor(caller, reason) }),
    ...(typeof failure === 'string' ? { after: { ...after, save_failure: messageFor(caller, failure) } } : {})
  }
}

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
      const entries = rows.slice(0, limit).map((entry) => entryFor(callerOf(request), entry))
      return { entries, ...(rows.length > limit ? { next_before: entries.at(-1)!.id } : {}) }
    }
  )
}
