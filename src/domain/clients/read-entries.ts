import { isEntry } from '../import/entry.ts'
import { parseInputs, type Inputs } from '../import/variables.ts'
import { isObject } from '../is-object.ts'
import { EVERY_MEMBER, type ConfigPlace, type FileClient } from './clients.ts'

type Members = Readonly<Record<string, unknown>>

/** Entry of a client's file, in the form that the import understands */
export interface ClientEntry {
  readonly name: string
  /** Path of the entry in the document */
  readonly path: readonly string[]
  readonly value: Members
  readonly inputs: Inputs
  /** False if the client does not start the server */
  readonly isEnabled: boolean
  /** Reason why only the client itself can use the entry */
  readonly problem?: string
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const object = (value: unknown): Members => (isObject(value) ? value : {})

/** Replaces texts at any depth, outside keys. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}

const reference = (name: string) => `\${${name}}`

/** Members that say only how a client treats a server, and that mean nothing to a gateway */
const clientMembers = new Set(['enabled', 'disabled', 'source', 'bundled', 'timeout', 'name', 'display_name', 'tools'])

const withoutClientMembers = (value: Members): Members =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !clientMembers.has(key)))

function fromCodex({ http_headers, env_http_headers, bearer_token_env_var, env_vars, ...rest }: Members): Members {
  const referred = Object.entries(object(env_http_headers)).map(([name, variable]) => [
    name,
    reference(String(variable))
  ])
  const token =
    typeof bearer_token_env_var === 'string' ? [['Authorization', `Bearer ${reference(bearer_token_env_var)}`]] : []
  const copied = list(env_vars).flatMap((name) => (typeof name === 'string' ? [[name, reference(name)]] : []))
  const headers = { ...object(http_headers), ...Object.fromEntries([...referred, ...token]) } as Members
  const env = { ...(Object.fromEntries(copied) as Members), ...object(rest.env) }
  return { ...rest, headers, env }
}

const fromOpenCode = ({ environment, ...rest }: Members): Members => {
  const value = { ...rest, ...(isObject(environment) ? { env: environment } : {}) }
  return mapTexts(value, (text) =>
    text.replace(/\{env:(\w+)\}/g, '${$1}').replace(/\{(file:[^{}]*)\}/g, '${$1}')
  ) as Members
}

function fromGoose({ cmd, uri, envs, env_keys, ...rest }: Members): Members {
  const keys = list(env_keys).filter((name) => typeof name === 'string')
  const env = { ...Object.fromEntries(keys.map((name) => [name, reference(name)])), ...object(envs) }
  return { ...rest, ...(cmd === undefined ? { url: uri } : { command: cmd, env }) }
}

/** Reads also the older form, in which `command` is an object. */
const fromZed = (value: Members): Members => {
  const { path, ...rest } = object(value.command)
  return isObject(value.command) ? { ...value, ...rest, command: path } : value
}

/** `$NAME` is a reference too; `url` is an address of HTTP+SSE unless the type says otherwise. */
const fromGemini = (value: Members): Members => {
  const referring = mapTexts(value, (text) => text.replace(/\$([A-Za-z_]\w*)/g, '${$1}')) as Members
  const isSse = referring.url !== undefined && referring.httpUrl === undefined && referring.type === undefined
  return isSse ? { ...referring, type: 'sse' } : referring
}

const converters: { readonly [client in FileClient]?: (value: Members) => Members } = {
  codex: fromCodex,
  opencode: fromOpenCode,
  goose: fromGoose,
  zed: fromZed,
  'gemini-cli': fromGemini
}

/** Returns the names that lists in the document disable, beside the entries' own members. */
function disabledNames(client: FileClient, document: Members, path: readonly string[]): ReadonlySet<unknown> {
  if (client === 'gemini-cli') return new Set(list(object(document.mcp).excluded))
  if (client !== 'claude-code' || path[0] !== 'projects') return new Set()
  const project = object(object(document.projects)[path[1]!])
  return new Set([...list(project.disabledMcpServers), ...list(project.disabledMcpjsonServers)])
}

function problemOf(client: FileClient, value: Members): string | undefined {
  if (client === 'goose' && !['stdio', 'sse', 'streamable_http', undefined].includes(value.type as string))
    return 'it is built into goose'
  if (client === 'zed' && !isEntry(fromZed(value))) return 'it belongs to an extension of Zed'
  if (typeof value.cwd === 'string') return 'it needs its own working directory, which the gateway does not set'
  return undefined
}

function readEntry(client: FileClient, document: Members, path: readonly string[], value: Members): ClientEntry {
  const name = path.at(-1)!
  const isEnabled =
    value.enabled !== false && value.disabled !== true && !disabledNames(client, document, path).has(name)
  const problem = problemOf(client, value)
  const converted = withoutClientMembers(converters[client]?.(value) ?? value)
  const inputs = parseInputs(document.inputs ?? object(document.mcp).inputs)
  return { name, path, value: converted, inputs, isEnabled, ...(problem === undefined ? {} : { problem }) }
}

/** Returns the objects at a path of which an element may stand for every member, with their paths. */
function objectsAt(value: unknown, path: readonly string[], before: readonly string[] = []): [string[], Members][] {
  if (!isObject(value)) return []
  const [key, ...rest] = path
  if (key === undefined) return [[[...before], value]]
  const keys = key === EVERY_MEMBER ? Object.keys(value) : Object.hasOwn(value, key) ? [key] : []
  return keys.flatMap((each) => objectsAt(value[each], rest, [...before, each]))
}

/** Returns true for the object that holds the servers in the newer form of opencode's `mcp`. */
const isNestedMap = (client: FileClient, name: string, value: Members) =>
  client === 'opencode' && name === 'servers' && !isEntry(value)

/** Returns the servers of a client in a parsed document; anything that is not an entry is left out. */
export function readEntries(client: FileClient, place: ConfigPlace, document: unknown): ClientEntry[] {
  return objectsAt(document, place.servers).flatMap(([path, servers]) =>
    Object.entries(servers).flatMap(([name, value]) =>
      isObject(value) && !isNestedMap(client, name, value)
        ? [readEntry(client, object(document), [...path, name], value)]
        : []
    )
  )
}
