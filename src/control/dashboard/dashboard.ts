import { notFound } from '../../lib/errors.ts'
import type { GroupConfig, ItemKind, UpstreamOffer, ServerConfig, StoredServer } from '../../registry/model/model.ts'
import type { Registry } from '../../registry/registry.ts'
import type { CallEntry } from '../../schemas/call.ts'
import type { Check } from '../../schemas/check.ts'
import type { Attention } from '../../schemas/dashboard/overview.ts'
import type { PromptsView } from '../../schemas/dashboard/prompts.ts'
import type { ResourcesView } from '../../schemas/dashboard/resources.ts'
import type { SkillsView } from '../../schemas/dashboard/skills.ts'
import type { ServerDetails, ServerTrial, ServerUpdate, ServerView } from '../../schemas/dashboard/servers.ts'
import type { ToolGroupPreview } from '../../schemas/dashboard/tool-groups.ts'
import type { ServerInput } from '../../schemas/server.ts'
import type { CallFigures } from '../../schemas/stats.ts'
import type { Attempts } from '../attempts.ts'
import type { Catalog, Item, CatalogServer } from '../../catalog/catalog.ts'
import type { DashboardEvents } from './dashboard-events.ts'
import { ownCalls } from '../own-calls.ts'
import { boundIssuer } from '../../upstream/oauth/bound-issuer.ts'
import { groupOf } from '../../catalog/endpoint.ts'
import { secretsOrNone } from '../readable-secrets.ts'
import { permitOf } from '../../catalog/scope.ts'
import { configTarget, type Target } from '../../upstream/transports.ts'
import type { ActiveClient, ClientActivity } from '../../observe/client-activity.ts'
import { attentionOf } from './attention.ts'
import { checkCommand, checkDatabase, checkLeftOut, checkServer, checkStartCost } from './diagnostics.ts'
import type { Groups } from '../groups.ts'
import { itemViewFor, serverDetailsFor, serverViewFor } from './for-caller.ts'
import { effectiveOf, previewOf, tokensOf, type EffectiveTools } from './groups.ts'
import { promptView, resourceView, skillView, templateView, toolText } from './items.ts'
import { withKeptSecrets } from './kept-secrets.ts'
import { createServerViews, type ServerViewsOptions } from './servers.ts'
import { runTrial } from './trial.ts'
import { createVisibleParts } from './visible-parts.ts'
import type { Caller } from '../../catalog/caller.ts'

/** Calls read to learn whether any was made, and whether by an MCP client */
const NEWEST_CALLS = 50

export interface DashboardOptions extends Omit<ServerViewsOptions, 'secretsOf'> {
  readonly registry: Registry
  readonly attempts: Attempts
  readonly groups: Pick<Groups, 'visible'>
  readonly events: DashboardEvents
  readonly clientActivity: Pick<ClientActivity, 'lastUsedAt' | 'listClients'>
  catalog(): Catalog
  targetOf(stored: StoredServer): Target
  readOffer(target: Target): Promise<UpstreamOffer>
  /** Reads the lists of a registered server and updates its status. Rejects with UpstreamFailure. */
  readRegistered(target: Target): Promise<UpstreamOffer>
  /** Looks up the command of a stdio server. Rejects with UpstreamFailure if it does not exist. */
  findCommand(stored: StoredServer): Promise<unknown>
}

/** Numbers of servers, groups and items that the global endpoint serves. */
export interface ServedCounts {
  readonly server_count: number
  readonly tool_count: number
  readonly prompt_count: number
  readonly resource_count: number
  readonly group_count: number
}

/**
 * Queries and commands of the dashboard's and the console's routes, beside those of `Gateway`
 * (http-contract.md#dashboard-routes). What a method returns is what its caller may read. Methods throw AppError.
 */
export interface Dashboard {
  readonly events: Pick<DashboardEvents, 'subscribe' | 'publish'>
  servers(caller: Caller): Promise<ServerView[]>
  /** Throws 404. */
  server(caller: Caller, name: string): Promise<ServerView>
  details(caller: Caller, name: string): Promise<ServerDetails>
  /** Returns a `ToolsView` as JSON text, with the upstream's schemas byte for byte. */
  tools(caller: Caller): string
  prompts(caller: Caller): PromptsView
  resources(caller: Caller): ResourcesView
  skills(caller: Caller): SkillsView
  /** Returns the effective tools of a group, its last use in milliseconds since 1970, and its clients. Throws 404. */
  groupDetails(
    caller: Caller,
    name: string
  ): EffectiveTools & { readonly seen?: number; readonly clients: readonly ActiveClient[] }
  preview(config: GroupConfig): ToolGroupPreview
  counts(caller: Caller): ServedCounts
  /** Returns the estimated number of tokens of all tools' definitions that the caller sees. */
  countTokens(caller: Caller): number
  /** Returns what needs the attention of administrators; empty for users. */
  attention(caller: Caller, servers: readonly ServerView[]): Attention[]
  /** Returns the newest entries of the call log, at most 50; of users only their own. */
  newestCalls(caller: Caller): Promise<readonly CallEntry[]>
  /** Returns the last use of any MCP endpoint, in milliseconds since 1970. */
  lastSeen(): number | undefined
  /** Returns the clients of all endpoints, the most recent first. */
  clients(): readonly ActiveClient[]
  checks(servers: readonly ServerView[]): Promise<Check[]>
  /** Connects to a registered server and reads its lists. Throws 404. */
  testServer(caller: Caller, name: string): Promise<ServerTrial>
  tryConfig(caller: Caller, config: ServerConfig): Promise<ServerTrial>
  /** Returns the complete configuration for an update, including the kept secrets. Throws 400 and 404. */
  completeUpdate(name: string, update: ServerUpdate): ServerInput
}

export function createDashboard(options: DashboardOptions): Dashboard {
  const { registry, attempts, catalog, events, clientActivity, targetOf, readOffer, readRegistered, findCommand } =
    options
  const views = createServerViews({ ...options, secretsOf: (stored) => secretsOrNone(registry, stored) })

  const shown = createVisibleParts(catalog)
  const find = (name: string, caller?: Caller): CatalogServer => {
    const server = catalog().server(name)
    if (!server || (caller && !shown.servers(caller).includes(server))) throw notFound('server', name)
    return server
  }
  /** Returns undefined on failure, because a page without charts is better than no page. */
  const stats = (): Promise<CallFigures | undefined> => registry.calls.stats('24h').catch(() => undefined)
  const itemsOf = <T>(caller: Caller, kind: ItemKind, view: (item: Item, status: ServerView['status']) => T): T[] =>
    shown.servers(caller).flatMap((server) => {
      const status = views.status(server)
      return shown.items(caller, server, kind).map((item) => view(item, status))
    })
  const viewOf = (caller: Caller, server: CatalogServer, figures: CallFigures | undefined): ServerView => ({
    ...views.view(server, figures),
    ...shown.countsOf(caller, server)
  })

  return {
    events,
    async servers(caller) {
      const figures = await stats()
      return shown.servers(caller).map((server) => serverViewFor(caller, viewOf(caller, server, figures)))
    },
    server: async (caller, name) => serverViewFor(caller, viewOf(caller, find(name, caller), await stats())),
    async details(caller, name) {
      find(name, caller)
      const counted = await stats()
      const server = find(name, caller)
      return serverDetailsFor(caller, { ...views.details(server, counted), ...shown.countsOf(caller, server) })
    },
    tools: (caller) =>
      `{"tools":[${itemsOf(caller, 'tool', (item, status) => toolText(item, status, caller)).join(',')}]}`,
    prompts: (caller) => ({ prompts: itemsOf(caller, 'prompt', (...of) => itemViewFor(caller, promptView(...of))) }),
    skills: (caller) => ({
      skills: itemsOf(caller, 'skill', (item, status) => itemViewFor(caller, skillView(catalog(), item, status)))
    }),
    resources: (caller) => ({
      resources: itemsOf(caller, 'resource', (...of) => itemViewFor(caller, resourceView(catalog(), ...of))),
      templates: itemsOf(caller, 'template', (...of) => itemViewFor(caller, templateView(catalog(), ...of)))
    }),
    groupDetails(caller, name) {
      const group = catalog().group(name)
      if (!group) throw notFound('tool group', name)
      if (caller.kind === 'user') {
        const effective = effectiveOf(catalog(), group.stored, group, permitOf(catalog(), caller))
        return { ...effective, left_out: [], clients: [] }
      }
      const isOwn = (endpoint: string) => groupOf(endpoint) === name
      const seen = clientActivity.lastUsedAt(isOwn)
      const clients = clientActivity.listClients(isOwn)
      return { ...effectiveOf(catalog(), group.stored, group), clients, ...(seen === undefined ? {} : { seen }) }
    },
    preview: (config) => previewOf(catalog(), config),
    counts: (caller) => ({
      server_count: shown.servers(caller).length,
      tool_count: shown.countServed(caller, 'tool'),
      prompt_count: shown.countServed(caller, 'prompt'),
      resource_count: shown.countServed(caller, 'resource') + shown.countServed(caller, 'template'),
      group_count: options.groups.visible(caller).length
    }),
    countTokens: (caller) => tokensOf(shown.served(caller, 'tool')),
    attention: (caller, servers) => (caller.kind === 'user' ? [] : attentionOf(catalog(), servers)),
    newestCalls: (caller) => registry.calls.list({ limit: NEWEST_CALLS, ...ownCalls(caller) }),
    lastSeen: () => clientActivity.lastUsedAt(),
    clients: () => clientActivity.listClients(),

    async checks(servers) {
      const processes = catalog().servers.filter(({ enabled, stored }) => enabled && stored.transport === 'stdio')
      const commands = processes.map(({ stored }) => checkCommand(stored, findCommand))
      return [
        ...(await checkDatabase(registry.ping)),
        ...servers.map((server) => checkServer(server, options.health.readingTimes(server.name))),
        ...servers.flatMap(checkLeftOut),
        ...servers.flatMap(checkStartCost),
        ...(await Promise.all(commands))
      ]
    },

    async testServer(caller, name) {
      const { stored } = find(name)
      const read = (target: Target) => attempts.run(caller, 'server.test', target, readRegistered)
      return runTrial(targetOf(stored), { read, stderr: () => options.stderr(name) })
    },
    tryConfig(caller, config) {
      const target = configTarget(config)
      const read = () => attempts.run(caller, 'server.dry_run', target, readOffer)
      return runTrial(target, { read, stderr: target.tail.lines })
    },

    completeUpdate(name, update) {
      const { stored } = find(name)
      const { transport, session_mode, settings } = stored
      const config = { name, transport, session_mode, ...settings, ...registry.decryptSecrets(stored) }
      const kept = settings.definitions === undefined ? {} : { definitions: settings.definitions }
      return { ...kept, ...withKeptSecrets(update, config, boundIssuer(stored)) }
    }
  }
}
