import { missingNames } from '../../domain/groups.ts'
import type { ItemKind } from '../../registry/model/model.ts'
import type { Attention } from '../../schemas/dashboard/overview.ts'
import type { ServerView } from '../../schemas/dashboard/servers.ts'
import type { Catalog, CatalogGroup, Item, CatalogServer } from '../../catalog/catalog.ts'
import { partsOf } from '../../catalog/group-parts.ts'
import { scopeFor } from '../../catalog/scope.ts'
import { listTokensOf } from '../../catalog/token-budget.ts'
import { heldCountsOf } from '../definitions/definitions.ts'
import { namesIn } from '../groups.ts'
import { leftOutCount } from '../../catalog/items/left-out.ts'
import { restName } from '../item-records.ts'
import { wholeView } from '../rest-view.ts'
import { factsOf } from './items.ts'

function serverAttention({ name, status, status_since: since, last_error: detail }: ServerView): Attention[] {
  if (status !== 'failing' && status !== 'sign_in_needed') return []
  const about = { name, ...(detail === undefined ? {} : { detail }), ...(since === undefined ? {} : { since }) }
  return status === 'failing'
    ? [{ kind: 'server_failing', title: `${name} is failing`, ...about }]
    : [{ kind: 'sign_in_needed', title: `${name} needs a sign-in`, ...about }]
}

/** Returns a single entry per server, whatever its number of held definitions. */
function heldAttention(server: CatalogServer): Attention[] {
  const counts = heldCountsOf(server)
  const count = counts.new + counts.changed
  if (count === 0) return []
  const title = `${count} ${count === 1 ? 'definition' : 'definitions'} of ${server.name} ${count === 1 ? 'waits' : 'wait'} for a decision`
  return [{ kind: 'definitions_held', name: server.name, title }]
}

const MAX_NAMED = 3

/** Returns a single entry per server, because a hostile server may list thousands of items. */
function leftOutAttention({ name, leftOut }: CatalogServer): Attention[] {
  if (leftOut === undefined) return []
  const count = leftOutCount(leftOut)
  const named = leftOut.items
    .slice(0, MAX_NAMED)
    .map(({ kind, name: own, reason }) => `${kind} ${own ?? ''}: ${reason}`)
  const title = `${count} ${count === 1 ? 'item' : 'items'} of the server ${name} ${count === 1 ? 'is' : 'are'} not served`
  return [{ kind: 'items_left_out', name, title, detail: named.join('; ') }]
}

/** Creates a function that returns the entries for an item. `nameOf`: returns the item's name in the routes. */
const createItemAttention =
  (what: 'tool' | 'prompt' | 'resource', nameOf: (item: Item) => string) =>
  (item: Item): Attention[] => {
    if (!factsOf(item).isHidden) return []
    const name = nameOf(item)
    return [{ kind: `${what}_hidden`, name, title: `${name} contains hidden characters` }]
  }

const toolAttention = createItemAttention('tool', ({ publicName }) => publicName)
const promptAttention = createItemAttention('prompt', ({ publicName }) => publicName)
const resourceAttention = (catalog: Catalog) =>
  createItemAttention('resource', (item) => restName(wholeView(catalog), item))

function groupAttention(catalog: Catalog): Attention[] {
  return catalog.groups.flatMap((group) => [
    ...missingAttention(catalog, group),
    ...brokenAttention(catalog, group),
    ...tokenAttention(catalog, group)
  ])
}

function missingAttention(catalog: Catalog, { stored }: CatalogGroup): Attention[] {
  const { tools, servers } = missingNames(stored, namesIn(catalog))
  const missing = [...servers, ...tools]
  if (missing.length === 0) return []
  const title = `Group ${stored.name} includes names that do not exist`
  return [{ kind: 'group_missing', name: stored.name, title, detail: missing.slice(0, 10).join(', ') }]
}

function brokenAttention(catalog: Catalog, group: CatalogGroup): Attention[] {
  const { withheld } = partsOf(catalog, group)
  if (withheld.length === 0) return []
  const { name } = group.stored
  const title = `Group ${name} withholds ${withheld.length} ${withheld.length === 1 ? 'tool' : 'tools'}`
  const named = withheld.slice(0, MAX_NAMED).map(({ tool, reason }) => `${tool}: ${reason}`)
  return [{ kind: 'group_broken', name, title, detail: named.join('; ') }]
}

function tokenAttention(catalog: Catalog, group: CatalogGroup): Attention[] {
  const { name, max_tokens: limit } = group.stored
  if (limit === null) return []
  const tokens = listTokensOf(scopeFor(catalog, group))
  if (tokens <= limit) return []
  return [{ kind: 'group_tokens', name, title: `Group ${name} has ~${tokens} tokens, more than its limit of ${limit}` }]
}

/** Returns everything that needs the attention of an administrator, the most serious first. */
export function attentionOf(catalog: Catalog, servers: readonly ServerView[]): Attention[] {
  const enabled = catalog.servers.filter((server) => server.enabled)
  const all = (kind: ItemKind) => enabled.flatMap((server) => server.items(kind))
  return [
    ...servers.flatMap(serverAttention),
    ...catalog.servers.flatMap(heldAttention),
    ...all('tool').flatMap(toolAttention),
    ...all('prompt').flatMap(promptAttention),
    ...[...all('resource'), ...all('template')].flatMap(resourceAttention(catalog)),
    ...enabled.flatMap(leftOutAttention),
    ...groupAttention(catalog)
  ]
}
