import type {
  CatalogueEntry,
  EntryArgument,
  EntryInput,
  EntryPackage,
  EntryPair,
  EntryRemote
} from '../../domain/catalogue/entry.ts'
import { isObject } from '../../domain/is-object.ts'
import { withoutHidden } from '../../domain/text/hidden-characters.ts'
import { truncate } from '../../domain/text/text.ts'
import { RegistryEntry, type RegistryPackage, type RegistryRemote } from '../../schemas/registry-entry.ts'
import { createBodyCheck } from '../../validation/validators.ts'

/** An entry of the official registry has at most a few kilobytes. */
const MAX_ENTRY_BYTES = 65_536
const MAX_DESCRIPTION = 500
const MAX_TITLE = 100

/** Member of the registry's own data about an entry */
const OFFICIAL = 'io.modelcontextprotocol.registry/official'

type Input = NonNullable<NonNullable<RegistryRemote['variables']>[string]>
type Argument = NonNullable<RegistryPackage['packageArguments']>[number]
type Pair = NonNullable<RegistryRemote['headers']>[number]

/** Reports a text that must not be changed and cannot be used as it is. */
class UnusableText extends Error {}

/** Cleans a text that is only shown. */
const cleanText = (text: string, max: number) => truncate(withoutHidden(text).replace(/\s+/g, ' ').trim(), max)

/** Returns a text that becomes part of a command or request. Throws if a reader would not see all of it. */
function exact(text: string): string {
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u.test(text)) throw new UnusableText()
  return text
}

/** Returns an object without the members that are undefined. */
const defined = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }

const mapped = <T, R>(value: T | undefined, convert: (value: T) => R): R | undefined =>
  value === undefined ? undefined : convert(value)

const readInput = (input: Input): EntryInput =>
  defined({
    description: mapped(input.description, (text) => cleanText(text, MAX_DESCRIPTION)),
    isRequired: input.isRequired,
    isSecret: input.isSecret,
    format: input.format,
    value: mapped(input.value, exact),
    default: mapped(input.default, exact),
    placeholder: mapped(input.placeholder, (text) => cleanText(text, MAX_TITLE)),
    choices: input.choices?.map(exact)
  }) as EntryInput

const readVariables = (variables: Readonly<Record<string, Input>>) =>
  Object.fromEntries(Object.entries(variables).map(([name, input]) => [exact(name), readInput(input)]))

const readArgument = (argument: Argument): EntryArgument =>
  defined({
    ...readInput(argument),
    type: argument.type,
    name: mapped(argument.name, exact),
    valueHint: mapped(argument.valueHint, exact),
    isRepeated: argument.isRepeated,
    variables: mapped(argument.variables, readVariables)
  }) as EntryArgument

const readPair = (pair: Pair): EntryPair =>
  defined({
    ...readInput(pair),
    name: exact(pair.name),
    variables: mapped(pair.variables, readVariables)
  }) as EntryPair

function readArguments(given: readonly Argument[] | undefined): EntryArgument[] | undefined {
  const found = given?.map(readArgument)
  if (found?.some(({ type, name }) => type === 'named' && name === undefined)) throw new UnusableText()
  return found
}

const readPackage = (item: RegistryPackage): EntryPackage =>
  defined({
    registryType: item.registryType,
    registryBaseUrl: mapped(item.registryBaseUrl, exact),
    identifier: exact(item.identifier),
    version: mapped(item.version || undefined, exact),
    runtimeHint: mapped(item.runtimeHint || undefined, exact),
    transport: item.transport?.type ?? 'stdio',
    runtimeArguments: readArguments(item.runtimeArguments),
    packageArguments: readArguments(item.packageArguments),
    environmentVariables: item.environmentVariables?.map(readPair)
  }) as EntryPackage

const readRemote = ({ type, url, variables, headers }: RegistryRemote): EntryRemote =>
  defined({
    type,
    url: exact(url),
    variables: mapped(variables, readVariables),
    headers: headers?.map(readPair)
  }) as EntryRemote

/** Returns a link for people; only http and https, so that no link runs a script. */
function link(text: string | undefined): string | undefined {
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
  return url && /^https?:$/.test(url.protocol) && url.username === '' && url.href.length <= 2_048 ? url.href : undefined
}

function toEntry(server: RegistryEntry, status: unknown): CatalogueEntry {
  return defined({
    name: server.name,
    title: mapped(server.title, (text) => cleanText(text, MAX_TITLE) || undefined),
    description: cleanText(server.description, MAX_DESCRIPTION),
    version: exact(server.version),
    repository: link(server.repository?.url),
    website: link(server.websiteUrl),
    isDeprecated: status === 'deprecated' ? true : undefined,
    packages: (server.packages ?? []).map(readPackage),
    remotes: (server.remotes ?? []).map(readRemote)
  }) as CatalogueEntry
}

/** Returns the data of the registry about an entry: its status, and if it is the latest version. */
function officialData(item: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const meta = isObject(item._meta) ? item._meta : {}
  return isObject(meta[OFFICIAL]) ? meta[OFFICIAL] : {}
}

/**
 * Returns a function that checks and cleans one item of a registry's answer: a `server.json`, or an object with one as
 * `server`. The function returns undefined for an item that cannot be used, was deleted, or is not the latest version.
 */
export function createEntryReader(): (item: unknown) => CatalogueEntry | undefined {
  const check = createBodyCheck(RegistryEntry)
  return (item) => {
    if (!isObject(item)) return undefined
    const { status, isLatest } = officialData(item)
    if (status === 'deleted' || isLatest === false) return undefined
    const server = isObject(item.server) ? item.server : item
    if (JSON.stringify(server).length > MAX_ENTRY_BYTES || check(server) !== undefined) return undefined
    try {
      return toEntry(server as RegistryEntry, status)
    } catch (error) {
      if (error instanceof UnusableText) return undefined
      throw error
    }
  }
}
