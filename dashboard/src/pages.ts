import type { ComponentType } from 'preact'
import { lazy } from './shell/lazy.tsx'
import { AddServer } from './pages/add-server.tsx'
import { Calls } from './pages/calls.tsx'
import { Catalogue } from './pages/catalogue.tsx'
import { CatalogueServer } from './catalogue/server-page.tsx'
import { Connect } from './pages/connect.tsx'
import { Diagnostics } from './pages/diagnostics.tsx'
import { Groups } from './pages/groups.tsx'
import { Overview } from './pages/overview.tsx'
import { Server } from './pages/server.tsx'
import { Servers } from './pages/servers.tsx'
import type { Page, Route } from './router.ts'

/** `name`: name of the server, tool, prompt or group, or id of the call; '' on list pages. */
export type PageProps = Omit<Route, 'page'>

/** Pages with schema forms are loaded on first use (budget: dashboard.md#budgets). */
const Approvals = lazy<PageProps>(async () => (await import('./pages/approvals.tsx')).Approvals)
const ApprovalPage = lazy<PageProps>(async () => (await import('./pages/approvals.tsx')).ApprovalPage)
const Audit = lazy<PageProps>(async () => (await import('./pages/audit.tsx')).Audit)
const Definitions = lazy<PageProps>(async () => (await import('./pages/definitions.tsx')).Definitions)
const GroupBuilder = lazy<PageProps>(async () => (await import('./pages/group.tsx')).GroupBuilder)
const Me = lazy<PageProps>(async () => (await import('./pages/me.tsx')).Me)
const People = lazy<PageProps>(async () => (await import('./pages/people.tsx')).People)
const Person = lazy<PageProps>(async () => (await import('./pages/person.tsx')).Person)
const Teams = lazy<PageProps>(async () => (await import('./pages/teams.tsx')).Teams)
const Team = lazy<PageProps>(async () => (await import('./pages/team.tsx')).Team)
const McpClients = lazy<PageProps>(async () => (await import('./pages/mcp-clients.tsx')).McpClients)
const OAuthClients = lazy<PageProps>(async () => (await import('./pages/oauth-clients.tsx')).OAuthClients)
const Policies = lazy<PageProps>(async () => (await import('./pages/policies.tsx')).Policies)
const PolicyPage = lazy<PageProps>(async () => (await import('./pages/policy.tsx')).PolicyPage)
const Prompts = lazy<PageProps>(async () => (await import('./pages/prompts.tsx')).Prompts)
const Resources = lazy<PageProps>(async () => (await import('./pages/resources.tsx')).Resources)
const Tools = lazy<PageProps>(async () => (await import('./pages/tools.tsx')).Tools)

/** Component of each page, one file each in `pages/`; a list and its item may share a page. */
export const pages: Readonly<Record<Page, ComponentType<PageProps>>> = {
  overview: Overview,
  servers: Servers,
  'new-server': AddServer,
  server: Server,
  catalogue: Catalogue,
  'catalogue-server': CatalogueServer,
  tools: Tools,
  tool: Tools,
  prompts: Prompts,
  prompt: Prompts,
  resources: Resources,
  groups: Groups,
  'new-group': GroupBuilder,
  group: GroupBuilder,
  definitions: Definitions,
  calls: Calls,
  call: Calls,
  'mcp-clients': McpClients,
  'oauth-clients': OAuthClients,
  policies: Policies,
  'new-policy': PolicyPage,
  policy: PolicyPage,
  approvals: Approvals,
  approval: ApprovalPage,
  diagnostics: Diagnostics,
  connect: Connect,
  me: Me,
  people: People,
  person: Person,
  teams: Teams,
  team: Team,
  audit: Audit
}

/** Lists that stay mounted beside the open item. */
const listPages: Readonly<Partial<Record<Route['page'], Page>>> = {
  tools: 'tools',
  tool: 'tools',
  prompts: 'prompts',
  prompt: 'prompts'
}

/** Returns the key of a route; routes with the same key share one mounted page. */
export const routeKey = ({ page, name }: Route): string => listPages[page] ?? `${page} ${name}`
