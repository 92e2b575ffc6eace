import { definitionPolicyOf } from '../../catalog/served-definitions.ts'
import type { DefinitionPolicy } from '../../domain/definitions/kinds.ts'
import type { ServerSecrets, StoredServer } from '../../registry/model/model.ts'
import type { ConfigSummary, ServerDetails, ServerStats, ServerView } from '../../schemas/dashboard/servers.ts'
import type { ServerStatus } from '../../schemas/server-status.ts'
import type { CallFigures } from '../../schemas/stats.ts'
import type { CatalogServer } from '../../catalog/catalog.ts'
import { leftOutCount } from '../../catalog/items/left-out.ts'
import type { HealthReader } from './server-health.ts'
import type { SessionCounts } from '../../upstream/sessions/upstream-sessions.ts'
import { recordingMember } from '../server-records.ts'
import { costOfCalls } from '../start-costs.ts'
import type { StartTimes } from '../../upstream/sessions/start-meter.ts'
import { heldCountsOf } from '../definitions/definitions.ts'
import { statusOf } from './statuses.ts'
import { summaryOf } from './summary.ts'

export interface ServerViewsOptions {
  readonly health: HealthReader
  /** Returns a server's secrets; none if they cannot be decrypted. */
  secretsOf(stored: StoredServer): ServerSecrets
  /** Returns a function that redacts the server's secrets in a text. */
  redactorOf(stored: StoredServer): (text: string) => string
  /** Returns the last lines on stderr of a server's processes, the newest last. */
  stderr(server: string): readonly string[]
  sessions(id: string): SessionCounts
  /** Returns what starts and calls of a server took, by its id. */
  startTimes(id: string): StartTimes | undefined
  /** Policy for definitions of servers without one of their own. */
  readonly definitionPolicy: DefinitionPolicy
}

/** Views of servers for the dashboard. Built member by member here and nowhere else, so that no secret can slip in. */
export interface ServerViews {
  status(server: CatalogServer): ServerStatus
  /** Returns a server's view; without `stats_24h` if `stats` are absent. */
  view(server: CatalogServer, stats?: CallFigures): ServerView
  details(server: CatalogServer, stats?: CallFigures): ServerDetails
}

const STDERR_LINES = 200
const iso = (ms: number) => new Date(ms).toISOString()

/** Returns the figures of a server; all are zero if it was not called. */
function statsOf(name: string, { servers, strip_from }: CallFigures): ServerStats {
  const { server: _name, ...row } = servers.find(({ server }) => server === name) ?? {
    server: name,
    calls: 0,
    failed: 0,
    half_hours: Array.from({ length: 48 }, () => ({ calls: 0, failed: 0 }))
  }
  return { ...row, from: strip_from }
}

function protocolOf({ stored: { negotiation }, instructions }: CatalogServer): Partial<ServerDetails> {
  if (!negotiation) return {}
  const { modern, legacy, hasSessions, checkedAt, serverInfo, capabilities } = negotiation
  return {
    protocol: {
      ...(modern === null ? {} : { modern }),
      ...(legacy === null ? {} : { legacy }),
      has_sessions: hasSessions,
      checked_at: checkedAt
    },
    ...(serverInfo ? { server_info: { ...serverInfo } } : {}),
    capabilities: { ...capabilities },
    ...(instructions === null ? {} : { instructions })
  }
}

export function createServerViews(options: ServerViewsOptions): ServerViews {
  const { health, secretsOf, redactorOf, stderr, sessions } = options
  const summaries = new WeakMap<StoredServer, ConfigSummary>()
  const summary = (stored: StoredServer): ConfigSummary => {
    const known = summaries.get(stored) ?? summaryOf(stored, secretsOf(stored))
    summaries.set(stored, known)
    return known
  }
  const status = (server: CatalogServer) => statusOf(server, health, summary(server.stored))

  const contactOf = (server: CatalogServer) => {
    const contact = server.enabled ? health.get(server.name) : undefined
    if (!contact) return {}
    const redact = redactorOf(server.stored)
    return {
      status_since: iso(contact.since),
      ...(contact.error === undefined ? {} : { last_error: redact(contact.error) }),
      ...(contact.stderr === undefined ? {} : { last_stderr: redact(contact.stderr) }),
      ...contact.explanation
    }
  }
  /** Also considers the last read, because a read is stored only if the lists differ. */
  const discoveredAt = ({ name, stored: { negotiation } }: CatalogServer) => {
    const read = health.lastReadAt(name)
    const at = Math.max(read ?? 0, negotiation ? Date.parse(negotiation.checkedAt) : 0)
    return at > 0 ? { last_discovered_at: iso(at) } : {}
  }
  const view = (server: CatalogServer, stats?: CallFigures): ServerView => {
    const { stored, name, enabled } = server
    const { description, transport, updatedAt } = stored
    return {
      name,
      ...(description === null ? {} : { description }),
      transport,
      enabled,
      status: status(server),
      ...contactOf(server),
      tool_count: server.items('tool').length,
      prompt_count: server.items('prompt').length,
      resource_count: server.items('resource').length + server.items('template').length,
      skill_count: server.items('skill').length,
      left_out_count: leftOutCount(server.leftOut),
      held_count: heldCountsOf(server).new + heldCountsOf(server).changed,
      ...discoveredAt(server),
      updated_at: updatedAt,
      ...recordingMember(stored),
      ...costOfCalls(options.startTimes(stored.id)),
      ...(stored.saveFailure === null ? {} : { save_failure: stored.saveFailure }),
      config_summary: summary(stored),
      ...(stats ? { stats_24h: statsOf(name, stats) } : {})
    }
  }
  const details = (server: CatalogServer, stats?: CallFigures): ServerDetails => {
    const { stored, name } = server
    const { open, idle, spare = 0 } = sessions(stored.id)
    const worked = health.lastSuccessAt(name)
    const redact = redactorOf(stored)
    return {
      ...view(server, stats),
      ...protocolOf(server),
      definition_policy: definitionPolicyOf(stored, options.definitionPolicy),
      left_out: [...(server.leftOut?.items ?? [])],
      ...(stored.issuer === null ? {} : { issuer: stored.issuer }),
      registered_at: stored.registeredAt,
      ...(worked === undefined ? {} : { last_connected_at: iso(worked) }),
      sessions: open,
      idle_sessions: idle,
      spare_sessions: spare,
      processes: stored.transport === 'stdio' ? open : 0,
      stderr: stderr(name).slice(-STDERR_LINES).map(redact)
    }
  }
  return { status, view, details }
}
