import type { AccessToken, BrowserSession } from '../../src/schemas/access-token.ts'
import type { CallCause, CallEntry, CallFilter, CausesQuery } from '../../src/schemas/call.ts'
import type { CatalogueDetails, CataloguePage } from '../../src/schemas/catalogue.ts'
import type { Diagnostics } from '../../src/schemas/dashboard/diagnostics.ts'
import type { Overview } from '../../src/schemas/dashboard/overview.ts'
import type { PromptsView } from '../../src/schemas/dashboard/prompts.ts'
import type { ResourcesView } from '../../src/schemas/dashboard/resources.ts'
import type { SkillsView } from '../../src/schemas/dashboard/skills.ts'
import type { ServerDetails, ServersView } from '../../src/schemas/dashboard/servers.ts'
import type { ToolGroupView, ToolGroupsView } from '../../src/schemas/dashboard/tool-groups.ts'
import type { ToolsView } from '../../src/schemas/dashboard/tools.ts'
import type { ConnectedClient, OAuthGrantPage, RegisteredClient } from '../../src/schemas/oauth-client.ts'
import type { ApprovalStatus } from '../../src/domain/approvals.ts'
import type { Approval, EffectiveItem, Policy } from '../../src/schemas/policy.ts'
import type { Client, UserDetails } from '../../src/schemas/principal.ts'
import type { Team } from '../../src/schemas/team.ts'
import type { Range, Stats } from '../../src/schemas/stats.ts'
import type { Static } from '@sinclair/typebox'
import type { DefinitionPage, StateFilter } from '../../src/schemas/definition.ts'
import type { AuditFilter } from '../../src/schemas/audit.ts'
import { path } from './api.ts'
import type { AuditEntries } from './audit/audit-line.ts'
import { parseJson } from './form/json.ts'
import { source } from './store.ts'

/** Sources of the pages. All are defined here, so that pages share answers. */

export interface CallsPage {
  readonly calls: readonly CallEntry[]
  readonly next_before?: string
}

export const overview = source<Overview>(path('overview'), [
  'approvals',
  'servers',
  'tools',
  'prompts',
  'resources',
  'tool_groups',
  'calls'
])
/** Searches the catalogue; the first 100 servers are enough to find one by searching. */
export const catalogue = (words: string) =>
  source<CataloguePage>(`/api/v0/catalogue${search({ limit: 100, search: words })}`, [])
export const catalogueServer = (name: string) =>
  source<CatalogueDetails>(`/api/v0/catalogue/${encodeURIComponent(name)}`, [])
export const servers = source<ServersView>(path('servers'), ['servers', 'tools', 'prompts', 'resources', 'calls'])
export const server = (name: string) =>
  source<ServerDetails>(path('servers', name), ['servers', 'tools', 'prompts', 'resources', 'calls'])
/** Schemas contain numbers that a double would change. */
export const tools = source<ToolsView>(path('tools'), ['servers', 'tools'], parseJson)
export const prompts = source<PromptsView>(path('prompts'), ['servers', 'prompts'])
export const resources = source<ResourcesView>(path('resources'), ['servers', 'resources'])
export const skills = source<SkillsView>(path('skills'), ['servers'])
export const groups = source<ToolGroupsView>(path('tool-groups'), ['servers', 'tools', 'tool_groups'])
export const group = (name: string) =>
  source<ToolGroupView>(path('tool-groups', name), ['servers', 'tools', 'tool_groups'])
const DEFINITIONS = '/api/v0/definitions'
interface DefinitionFilter {
  readonly state: StateFilter
  readonly server: string | undefined
  readonly cursor: string | undefined
}
export const definitions = (filter: DefinitionFilter) =>
  source<DefinitionPage>(`${DEFINITIONS}${search({ ...filter })}`, ['servers'])
export const diagnostics = source<Diagnostics>(path('diagnostics'), ['servers'])
export const stats = (range: Range) => source<Stats>(`${path('stats')}?range=${range}`, ['calls', 'in_flight'])
export const calls = (filter: CallFilter) => source<CallsPage>(`${path('calls')}${search(filter)}`, ['calls'])
export const causes = (query: CausesQuery) =>
  source<{ readonly causes: readonly CallCause[] }>(`${path('calls', 'causes')}${search(query)}`, ['calls'])
export const audit = (filter: Static<typeof AuditFilter>) =>
  source<AuditEntries>(`/api/v0/audit${search(filter)}`, ['audit'])
export const call = (id: string) => source<CallEntry>(path('calls', id), [])

/** The REST interface answers the pages of people: the same gate for programs and browsers. */
export const ownSession = source<BrowserSession>('/api/v0/me/session', ['people'])
export const ownTokens = source<readonly AccessToken[]>('/api/v0/me/tokens', ['people'])
export const ownClients = source<readonly ConnectedClient[]>('/api/v0/me/clients', ['people'])
export const policies = source<readonly Policy[]>('/api/v0/policies?include=counts', ['policies'])
export const policy = (name: string) =>
  source<Policy>(`/api/v0/policies/${encodeURIComponent(name)}?include=counts`, ['policies'])
/** Numbers of arguments are exact. */
export const approvals = (status: ApprovalStatus | undefined) =>
  source<readonly Approval[]>(`/api/v0/approvals${search({ status, limit: 1_000 })}`, ['approvals'], parseJson)
export const approval = (id: string) =>
  source<Approval>(`/api/v0/approvals/${encodeURIComponent(id)}`, ['approvals'], parseJson)
export const oauthClients = source<readonly RegisteredClient[]>('/api/v0/oauth_clients?limit=1000', ['people'])
const GRANTS = '/api/v0/oauth_grants?limit=1000'
export const oauthGrants = source<OAuthGrantPage>(GRANTS, ['people'])
export const oauthGrantsAfter = (cursor: string) => source<OAuthGrantPage>(`${GRANTS}&cursor=${cursor}`, ['people'])
export const clients = source<readonly Client[]>('/api/v0/clients', ['people'])

const userPath = (name: string, ...rest: readonly string[]) =>
  ['/api/v0/users', encodeURIComponent(name), ...rest].join('/')
export const users = source<readonly UserDetails[]>('/api/v0/users?include=details', ['people'])
export const user = (name: string) => source<UserDetails>(userPath(name), ['people'])
export const userTokens = (name: string) => source<readonly AccessToken[]>(userPath(name, 'tokens'), ['people'])
export const userClients = (name: string) => source<readonly ConnectedClient[]>(userPath(name, 'clients'), ['people'])
export const effective = (name: string) =>
  source<readonly EffectiveItem[]>(`/api/v0/policies/effective${search({ user: name })}`, [
    'people',
    'policies',
    'servers',
    'tools'
  ])
export const teams = source<readonly Team[]>('/api/v0/teams', ['people'])
export const team = (name: string) => source<Team>(`/api/v0/teams/${encodeURIComponent(name)}`, ['people'])

const search = (filter: Readonly<Record<string, unknown>>): string => {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined && value !== '')
  return given.length > 0 ? `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}` : ''
}
