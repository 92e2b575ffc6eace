import { SKILLS_EXTENSION } from '../domain/mcp-constants.ts'
import { comparableUri, isEvasiveUri, looseUri } from '../domain/loose-uri.ts'
import { matchesTemplate } from '../domain/uri-template.ts'
import type { Catalog, CatalogServer, Item } from './catalog.ts'
import { declaredExtension } from './extensions.ts'

export const byRegistration = (a: CatalogServer, b: CatalogServer) =>
  a.stored.registeredAt < b.stored.registeredAt ? -1 : a.stored.registeredAt > b.stored.registeredAt ? 1 : 0

const authority = (uri: string) => /^[a-z][a-z0-9+.-]*:(\/\/[^/?#]*)?/i.exec(uri)?.[0].toLowerCase()

/** A template such as `{+uri}` describes every URI, so it does not show that a URI belongs to its server. */
const namesScheme = ({ name }: { readonly name: string }) => authority(name) !== undefined

/** A template, served or not. */
type Template = Pick<Item, 'name' | 'enabled'>

/** Returns 'enabled' if an enabled template matches the URI, 'disabled' if only disabled ones do. Tests each once. */
function matchAny(templates: readonly Template[], uri: string): 'enabled' | 'disabled' | undefined {
  let found: 'disabled' | undefined
  for (const item of templates) {
    if ((!item.enabled && found) || !matchesTemplate(item.name, uri)) continue
    if (item.enabled) return 'enabled'
    found = 'disabled'
  }
  return found
}

/** Templates of a server; held ones hide what they describe, as disabled ones do. */
const templatesOf = (server: CatalogServer): readonly Template[] =>
  server.held.length === 0
    ? server.items('template')
    : [...server.items('template'), ...server.held.filter(({ kind }) => kind === 'template')]

const matchTemplates = (server: CatalogServer, uri: string) => matchAny(templatesOf(server), uri)
const matchOwnTemplates = (server: CatalogServer, uri: string) => matchAny(templatesOf(server).filter(namesScheme), uri)

interface DisabledUris {
  /** As `comparableUri` writes them. */
  readonly uris: ReadonlySet<string>
  readonly schemes: ReadonlySet<string>
}

const disabledUris = new WeakMap<CatalogServer, DisabledUris>()

function disabledUrisOf(server: CatalogServer): DisabledUris {
  let found = disabledUris.get(server)
  if (!found) {
    const held = server.held.filter(({ kind }) => kind === 'resource')
    const disabled = [...server.items('resource').filter((item) => !item.enabled), ...held]
    found = {
      uris: new Set(disabled.map(({ name }) => comparableUri(name))),
      schemes: new Set(disabled.map(({ name }) => looseUri(name).scheme))
    }
    disabledUris.set(server, found)
  }
  return found
}

/** Returns true if a server may read a URI, which it does not list, as that of one of its disabled resources. */
function mayNameDisabled(server: CatalogServer, uri: string): boolean {
  const { uris, schemes } = disabledUrisOf(server)
  if (uris.size === 0) return false
  return uris.has(comparableUri(uri)) || (schemes.has(looseUri(uri).scheme) && isEvasiveUri(uri))
}

/**
 * A URI that only disabled items describe, in whatever spelling, must not reach the server by any step of the resolution.
 */
export function isDisabled(server: CatalogServer, uri: string): boolean {
  if (server.skillStateOf(uri) === 'disabled') return true
  const item = server.find('resource', uri)
  if (item) return !item.enabled
  if (server.isHeld('resource', uri)) return true
  return matchTemplates(server, uri) === 'disabled' || mayNameDisabled(server, uri)
}

/** Returns true if an enabled template of the server matches a URI that is not listed as a disabled resource. */
export const hasMatchingTemplate = (server: CatalogServer, uri: string, describes = matchOwnTemplates) =>
  server.find('resource', uri)?.enabled !== false &&
  !server.isHeld('resource', uri) &&
  server.skillStateOf(uri) !== 'disabled' &&
  describes(server, uri) === 'enabled'

export const hasResources = (server: CatalogServer) =>
  (['resource', 'template', 'skill'] as const).some((kind) => server.items(kind).some((item) => item.enabled))

/** Returns true if the server may have files of skills, which it need not list. */
export const mayHaveSkills = (server: CatalogServer) => declaredExtension(server, SKILLS_EXTENSION) !== undefined

const sharesAuthority = (server: CatalogServer, uri: string) => {
  const wanted = authority(uri)
  const same = (item: Item) => item.enabled && authority(item.name) === wanted
  return wanted !== undefined && (server.items('resource').some(same) || server.items('template').some(same))
}

/** Returns true if some server's entry or template shows whose URI it is, even if disabled or out of scope. */
const hasKnownServer = ({ servers }: Catalog, uri: string) =>
  servers.some(
    (server) =>
      server.find('resource', uri) !== undefined ||
      server.isHeld('resource', uri) ||
      server.skillStateOf(uri) !== undefined ||
      matchOwnTemplates(server, uri) !== undefined
  )

/**
 * Step 5 of the resolution (mcp-proxy.md#resource-uris): the only candidate, else a server with a template that matches
 * every URI. A URI that is known to belong to another server is never guessed.
 */
export function guess(catalog: Catalog, ordered: readonly CatalogServer[], uri: string): CatalogServer | undefined {
  if (hasKnownServer(catalog, uri)) return undefined
  const candidates = ordered.filter((server) => hasResources(server) && !isDisabled(server, uri))
  const related = candidates.filter((server) => sharesAuthority(server, uri))
  if (related.length === 1) return related[0]
  return candidates.length === 1
    ? candidates[0]
    : candidates.find((server) => hasMatchingTemplate(server, uri, matchTemplates))
}
