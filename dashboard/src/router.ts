import { mount } from './mount.ts'

/** Routes live in the hash: the gateway serves only the first page and `assets/*`, and any other path must answer 404. */

/** Patterns of routes; the first match wins. `:name` matches one encoded segment. */
const patterns = {
  overview: 'overview',
  catalogue: 'catalogue',
  'catalogue-server': 'catalogue/:name',
  servers: 'servers',
  'new-server': 'new/server',
  server: 'servers/:name',
  tools: 'tools',
  tool: 'tools/:name',
  prompts: 'prompts',
  prompt: 'prompts/:name',
  resources: 'resources',
  groups: 'groups',
  'new-group': 'new/group',
  group: 'groups/:name',
  definitions: 'definitions',
  calls: 'calls',
  call: 'calls/:id',
  'mcp-clients': 'clients',
  'oauth-clients': 'oauth-clients',
  policies: 'policies',
  'new-policy': 'new/policy',
  policy: 'policies/:name',
  approvals: 'approvals',
  approval: 'approvals/:id',
  diagnostics: 'diagnostics',
  connect: 'connect',
  me: 'me',
  people: 'people',
  person: 'people/:name',
  teams: 'teams',
  team: 'teams/:name',
  audit: 'audit'
} as const

export type Page = keyof typeof patterns

export interface Route {
  readonly page: Page | 'unknown'
  /** Decoded value of `:name` or `:id`; '' if the pattern has neither. */
  readonly name: string
  readonly query: Readonly<Record<string, string>>
}

type Query = Readonly<Record<string, string | undefined>>

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Returns the value of the pattern's parameter, '' without one; undefined if the path does not match. */
function match(pattern: string, path: string): string | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  let name = ''
  for (const [at, part] of wanted.entries()) {
    if (!part.startsWith(':')) {
      if (part !== given[at]) return undefined
      continue
    }
    const value = decode(given[at]!)
    if (!value) return undefined
    name = value
  }
  return name
}

const FIRST_PAGE: Page = mount.isConsole ? 'overview' : 'servers'

/** Parses `location.hash`. An empty one is the servers page, in the console the overview. */
export function parseHash(hash: string): Route {
  const [path = '', search = ''] = splitOnce(hash.replace(/^#\/?/, ''), '?')
  const query = Object.fromEntries(new URLSearchParams(search))
  if (path === '') return { page: FIRST_PAGE, name: '', query }
  for (const [page, pattern] of Object.entries(patterns) as [Page, string][]) {
    const name = match(pattern, path)
    if (name !== undefined) return { page, name, query }
  }
  return { page: 'unknown', name: '', query }
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}

/** Returns a hash for `href` and `navigate`. Query members that are empty or undefined are omitted. */
export function link(page: Page, name = '', query: Query = {}): string {
  const path = patterns[page].replace(/:\w+/, () => encodeURIComponent(name))
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = new URLSearchParams(given).toString()
  return `#/${path}${search ? `?${search}` : ''}`
}
