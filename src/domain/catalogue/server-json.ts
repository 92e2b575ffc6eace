import { isObject } from '../is-object.ts'
import { withoutHidden } from '../text/hidden-characters.ts'
import { truncate } from '../text/text.ts'
import type { CatalogueEntry, EntryArgument, EntryInput, EntryPackage, EntryPair, EntryRemote } from './entry.ts'

const MAX_DESCRIPTION = 500
const MAX_TITLE = 100
/** Limit of the names of package registries and transports, which problems quote, in characters */
const MAX_KIND = 32

type Members = Readonly<Record<string, unknown>>

/** Reports a `server.json` that cannot be used as it is; the message says why, without its texts. */
export class UnusableEntry extends Error {}

/** Cleans a text that is only shown. */
const cleanText = (text: string, max: number) => truncate(withoutHidden(text).replace(/\s+/g, ' ').trim(), max)

/** Returns a text that becomes part of a command or request. Throws if a reader would not see all of it. */
function exact(text: string): string {
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u.test(text))
    throw new UnusableEntry('it has hidden characters in a text that must be used as it is')
  return text
}

/** Returns an object without the members that are undefined. */
const defined = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const exactText = (value: unknown) => (typeof value === 'string' ? exact(value) : undefined)
const shownText = (value: unknown, max: number) => (typeof value === 'string' ? cleanText(value, max) : undefined)
const flagOf = (value: unknown) => (typeof value === 'boolean' ? value : undefined)
const listOf = (value: unknown): readonly Members[] | undefined =>
  Array.isArray(value) ? value.filter(isObject) : undefined

const formats = ['string', 'number', 'boolean', 'filepath'] as const

const readInput = (input: Members): EntryInput =>
  defined({
    description: shownText(input.description, MAX_DESCRIPTION),
    isRequired: flagOf(input.isRequired),
    isSecret: flagOf(input.isSecret),
    format: formats.find((format) => format === input.format),
    value: exactText(input.value),
    default: exactText(input.default),
    placeholder: shownText(input.placeholder, MAX_TITLE),
    choices: Array.isArray(input.choices) ? input.choices.flatMap((each) => exactText(each) ?? []) : undefined
  }) as EntryInput

const readVariables = (variables: unknown) =>
  isObject(variables)
    ? Object.fromEntries(
        Object.entries(variables).flatMap(([name, input]) => (isObject(input) ? [[exact(name), readInput(input)]] : []))
      )
    : undefined

function readArgument(argument: Members): EntryArgument {
  const name = exactText(argument.name)
  const type = argument.type === 'named' ? 'named' : 'positional'
  if (type === 'named' && name === undefined) throw new UnusableEntry('it has a named argument without a name')
  return defined({
    ...readInput(argument),
    type,
    name,
    valueHint: exactText(argument.valueHint),
    isRepeated: flagOf(argument.isRepeated),
    variables: readVariables(argument.variables)
  }) as EntryArgument
}

function readPair(pair: Members): EntryPair {
  const name = exactText(pair.name)
  if (name === undefined) throw new UnusableEntry('it has a variable or header without a name')
  return defined({ ...readInput(pair), name, variables: readVariables(pair.variables) }) as EntryPair
}

const readPackage = (item: Members): EntryPackage =>
  defined({
    registryType: shownText(item.registryType, MAX_KIND) ?? '',
    registryBaseUrl: exactText(item.registryBaseUrl),
    identifier: exactText(item.identifier) ?? '',
    version: exactText(item.version) || undefined,
    runtimeHint: exactText(item.runtimeHint) || undefined,
    transport: (isObject(item.transport) ? shownText(item.transport.type, MAX_KIND) : undefined) ?? 'stdio',
    runtimeArguments: listOf(item.runtimeArguments)?.map(readArgument),
    packageArguments: listOf(item.packageArguments)?.map(readArgument),
    environmentVariables: listOf(item.environmentVariables)?.map(readPair)
  }) as EntryPackage

const readRemote = ({ type, url, variables, headers }: Members): EntryRemote =>
  defined({
    type: type === 'sse' ? 'sse' : 'streamable-http',
    url: exactText(url) ?? '',
    variables: readVariables(variables),
    headers: listOf(headers)?.map(readPair)
  }) as EntryRemote

/** Returns a link for people; only http and https, so that no link runs a script. */
function link(text: unknown): string | undefined {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  return url && /^https?:$/.test(url.protocol) && url.username === '' && url.href.length <= 2_048 ? url.href : undefined
}

/** Returns the `server.json` of the MCP registry, which its API wraps in an object. */
export function findServerJson(value: Members): Members | undefined {
  const entry = isObject(value.server) ? value.server : value
  return typeof entry.name === 'string' && (Array.isArray(entry.packages) || Array.isArray(entry.remotes))
    ? entry
    : undefined
}

/**
 * Reads a `server.json`: members of other types than expected are absent, and texts that are only shown are cleaned.
 * Throws UnusableEntry for texts that must be used as they are and cannot.
 */
export const readServerJson = (server: Members, isDeprecated = false): CatalogueEntry =>
  defined({
    name: textOf(server.name) ?? '',
    title: shownText(server.title, MAX_TITLE) || undefined,
    description: shownText(server.description, MAX_DESCRIPTION) ?? '',
    version: exactText(server.version) ?? '',
    repository: link(isObject(server.repository) ? server.repository.url : undefined),
    website: link(server.websiteUrl),
    isDeprecated: isDeprecated ? true : undefined,
    packages: (listOf(server.packages) ?? []).map(readPackage),
    remotes: (listOf(server.remotes) ?? []).map(readRemote)
  }) as CatalogueEntry
