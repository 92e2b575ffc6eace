import {
  parseInputs,
  normaliseReferences,
  type ImportVariable,
  type ImportVariables,
  type Inputs
} from './variables.ts'
import { isEntry, registrationOf, type Registration, type ImportFindings } from './entry.ts'
import { parseJsonc } from './jsonc.ts'
import { suggestName } from './name.ts'
import { findServerJson } from '../catalogue/server-json.ts'
import { convertServerJson } from './package.ts'
import { readPastedText, type PastedServer } from './pasted-text.ts'
import { isObject } from '../is-object.ts'
import { hostKey } from '../network/loopback.ts'
import { isServerName, toServerName } from '../names.ts'
import { upstreamUrlProblem } from '../network/upstream-url.ts'

export type { ImportVariable } from './variables.ts'
export type { Registration } from './entry.ts'

/** Server found in an imported configuration */
export interface ImportedServer {
  /** Name, adjusted to the naming rule */
  readonly name: string
  /** Body of `POST /api/v0/servers`; texts contain `${NAME}` for variables to be filled in (`expandPlaceholders`) */
  readonly registration: Registration
  /** Problems, each of which prevents the registration */
  readonly problems: readonly string[]
  /** Changes made during the import */
  readonly notes: readonly string[]
  /** Keys of the entry that have no meaning for the gateway */
  readonly ignored: readonly string[]
  readonly variables: readonly ImportVariable[]
}

export interface ImportResult {
  readonly servers: readonly ImportedServer[]
  /** Reason why the whole text cannot be imported; quotes nothing from it */
  readonly problem?: string
}

export interface ImportOptions {
  /** Addresses of the gateway itself; entries that lead there are rejected, since the gateway would call itself */
  readonly ownUrls?: readonly string[]
}

type Members = Readonly<Record<string, unknown>>

/** Entry with its original name */
export interface FoundEntry {
  readonly name: string | undefined
  readonly value: Members
  readonly inputs: Inputs
  /** Findings of the reader of a text that is not JSON. */
  readonly problems?: readonly string[]
  readonly notes?: readonly string[]
}

/** Problem of an entry that leads to the gateway itself */
export const OWN_ENTRY = 'skipped: this entry is this gateway'

const UNKNOWN =
  'unknown format; expected "mcpServers", "servers", a server.json, a registration, a command line, a link or a URL'

/** Returns an object's maps of servers, under the names that the clients use for them. */
function serverMaps(value: Members): Members[] {
  const nested = isObject(value.mcp) ? [value.mcp.servers] : []
  return [value.mcpServers, value.servers, value['mcp.servers'], value.context_servers, ...nested].filter(isObject)
}

const toEntries = (map: Members, inputs: Inputs): FoundEntry[] =>
  Object.entries(map).map(([name, value]) => ({ name, value: isObject(value) ? value : {}, inputs }))

function findEntries(value: unknown): FoundEntry[] {
  if (Array.isArray(value)) return value.flatMap(findEntries)
  if (!isObject(value)) return []
  const inputs = parseInputs(value.inputs ?? (isObject(value.mcp) ? value.mcp.inputs : undefined))
  const maps = serverMaps(value)
  if (maps.length > 0) return maps.flatMap((map) => toEntries(map, inputs))
  if (Array.isArray(value.servers)) return value.servers.flatMap(findEntries)
  if (findServerJson(value) || isEntry(value)) {
    const { name } = findServerJson(value) ?? value
    return [{ name: typeof name === 'string' ? name : undefined, value, inputs }]
  }
  const entries = Object.values(value)
  return entries.length > 0 && entries.every(isEntry) ? toEntries(value, inputs) : []
}

const withoutSlash = (path: string) => path.replace(/\/+$/, '')

/** Returns true if `url` is below the gateway's address `own`, whatever the spelling of the host. */
function isBelowUrl(url: URL, own: URL): boolean {
  const port = (each: URL) => each.port || (each.protocol === 'https:' ? '443' : '80')
  const base = withoutSlash(own.pathname)
  const isBelow = withoutSlash(url.pathname) === base || url.pathname.startsWith(`${base}/`)
  return hostKey(url.hostname) === hostKey(own.hostname) && port(url) === port(own) && isBelow
}

function urlProblem(url: string, ownUrls: readonly string[]): string | undefined {
  if (url.includes('${')) return undefined
  const problem = upstreamUrlProblem(url)
  if (problem !== undefined) return `the address ${problem}`
  const isLoop = ownUrls.some((own) => URL.canParse(own) && isBelowUrl(new URL(url), new URL(own)))
  return isLoop ? OWN_ENTRY : undefined
}

function nameOf({ name, value }: FoundEntry, registration: Members, notes: string[]): string {
  if (name === undefined) {
    const suggested = suggestName(registration)
    notes.push(`it has no name: "${suggested}" is derived from its ${'url' in registration ? 'address' : 'command'}`)
    return suggested
  }
  if (isServerName(name)) return name
  const cleaned = toServerName(findServerJson(value) ? name.replace(/^.*\//, '') : name)
  notes.push('renamed to fit the naming rule')
  return cleaned
}

/** Imports one entry; `ownUrls` as in ImportOptions. */
export function importEntry(found: FoundEntry, ownUrls: readonly string[]): ImportedServer {
  const { problems = [], notes = [] } = found
  const remarks: ImportFindings = { problems: [...problems], notes: [...notes], ignored: [] }
  const variables: ImportVariables = new Map()
  const fromRegistry = findServerJson(found.value)
  const entry = fromRegistry ? convertServerJson(fromRegistry, variables, remarks) : found.value
  const members = remarks.problems.length > 0 ? { transport: 'streamable_http' } : registrationOf(entry, remarks)
  const written = normaliseReferences(members, found.inputs, variables, remarks.problems)
  const name = nameOf(found, written, remarks.notes)
  const problem = typeof written.url === 'string' ? urlProblem(written.url, ownUrls) : undefined
  if (problem !== undefined) remarks.problems.push(problem)
  return { name, registration: { name, ...written } as Registration, ...remarks, variables: [...variables.values()] }
}

/** Adds a problem to each server whose name an earlier one already has. */
export function markDuplicateNames(servers: readonly ImportedServer[]): ImportedServer[] {
  const taken = new Set<string>()
  return servers.map((server) => {
    const isTaken = taken.has(server.name)
    taken.add(server.name)
    return isTaken
      ? { ...server, problems: [...server.problems, `another entry has the name "${server.name}"`] }
      : server
  })
}

/**
 * Imports the servers from the configuration of any known client, from a `server.json` of the MCP registry, from
 * registrations of this gateway or of MCPJungle, from command lines, links and addresses. Runs nothing.
 */
export function importServers(text: string, { ownUrls = [] }: ImportOptions = {}): ImportResult {
  try {
    const found = findInText(text)
    if (found.length === 0) return { servers: [], problem: UNKNOWN }
    return { servers: markDuplicateNames(found.map((each) => importEntry(each, ownUrls))) }
  } catch (error) {
    return { servers: [], problem: error instanceof SyntaxError ? error.message : 'it is nested too deeply' }
  }
}

/** Finds the entries of a text: JSON, or anything else that can be pasted. Throws SyntaxError for malformed JSON. */
function findInText(text: string): FoundEntry[] {
  const start = text.replace(/^\ufeff/, '').trimStart()
  // documentation often shows a member without the braces around it
  const isMember = /^"[^"\n]*"\s*:/.test(start)
  if (isMember) return findEntries(parseJsonc(`{${start}}`))
  const isJson = /^(?:[[{]|\/[/*])/.test(start)
  return isJson ? findEntries(parseJsonc(text)) : (readPastedText(start) ?? []).flatMap(toFoundEntry)
}

function toFoundEntry({ name, value, problems, notes }: PastedServer): FoundEntry[] {
  if (typeof value !== 'string') return [{ name, value, inputs: new Map(), problems, notes }]
  const entries = findEntries(parseJsonc(value))
  return entries.map((each) => ({ ...each, name: name ?? each.name, problems, notes }))
}
