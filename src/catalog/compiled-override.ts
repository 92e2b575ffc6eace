import { fingerprintOf } from '../domain/definitions/canonical.ts'
import { createLockedSecrets, type LockedSecrets } from '../domain/secrets/locked-secrets.ts'
import type { PolicyItem } from '../domain/policy/target.ts'
import {
  isSecretLock,
  type ArgumentOverride,
  type OverrideBinding,
  type ToolOverride
} from '../domain/overrides/tool-overrides.ts'
import { editMembers, members, valueOf } from '../json/json.ts'
import { listEntry, type Item } from './catalog.ts'
import {
  argumentProblem,
  editInputSchema,
  inputSchemaOf,
  propertyType,
  type InputSchema
} from './overrides/argument-schema.ts'
import { compileArguments, type EditArguments } from './overrides/edit-arguments.ts'

/** A tool as a group with an override of it serves it. */
export interface CompiledOverride {
  readonly item: Item
  readonly override: ToolOverride
  /** Name at the group's endpoint. */
  readonly name: string
  /** JSON text of the tool in lists: the usual one with the override's members, everything else byte for byte. */
  readonly text: string
  /** The definition has changed since the override was saved. */
  readonly isStale: boolean
  /** Applies the override to the arguments of a call; undefined if it does not touch them. */
  readonly editArguments: EditArguments | undefined
  /** Arguments that are locked to secrets; undefined if there are none. */
  readonly secrets: LockedSecrets | undefined
  /** The tool as policies see it: rules that ask for a yes read the override's annotations. */
  readonly policyItem: PolicyItem
}

/** An override that cannot be applied as it was meant: the tool is withheld. */
export interface BrokenOverride {
  readonly item: Item
  readonly broken: string
}

/** Returns the canonical fingerprint of the definition of a tool that is served. */
export const servedFingerprint = ({ stored: { definition, canonical, pinned, present } }: Item): string =>
  (present === undefined ? canonical : pinned) || fingerprintOf('tool', definition)

/** Returns the binding of an override to the definition that is served now. */
export function bindingOf(item: Item, { arguments: given = {} }: ToolOverride): OverrideBinding {
  const schema = inputSchemaOf(item.stored.definition)
  const bound = Object.entries(given).filter(([, override]) => isBinding(override))
  const types = bound.map(([name]) => [name, typeof schema === 'string' ? '' : propertyType(schema, name)])
  return { fingerprint: servedFingerprint(item), types: Object.fromEntries(types) as Record<string, string> }
}

/** Returns true for a lock or an enum: without it callers could do more than the group allows. */
const isBinding = (override: ArgumentOverride) => Object.hasOwn(override, 'lock') || override.enum !== undefined

/** Returns every reason why an override cannot be saved. */
export function problemsOfOverride(item: Item, { arguments: given = {} }: ToolOverride): string[] {
  const schema = inputSchemaOf(item.stored.definition)
  return Object.entries(given).flatMap(([name, override]) => {
    const problem = argumentProblem(schema, name, override)
    return problem === undefined ? [] : [`argument ${JSON.stringify(name)} ${problem}`]
  })
}

/** Returns the secrets of one tool's locks by argument. Throws AppError if they cannot be decrypted. */
export type SecretsOfTool = () => Readonly<Record<string, string>>

/** An override with what its compilation depends on. */
export interface OverrideSource {
  readonly override: ToolOverride
  /** Absent for an override that is not saved yet. */
  readonly binding?: OverrideBinding | undefined
  readonly secrets: SecretsOfTool
}

interface UsableArguments {
  readonly usable: ReadonlyMap<string, ArgumentOverride>
  readonly broken: string | undefined
}

/** Splits the overrides of arguments into those that can be applied, and the first reason to withhold the tool. */
function usableArguments(schema: InputSchema | string, { override, binding }: OverrideSource): UsableArguments {
  const usable = new Map<string, ArgumentOverride>()
  for (const [name, each] of Object.entries(override.arguments ?? {})) {
    const types = binding?.types ?? {}
    const problem =
      argumentProblem(schema, name, each) ??
      (typeof schema !== 'string' && Object.hasOwn(types, name) && types[name] !== propertyType(schema, name)
        ? 'has another type than when the group was saved'
        : undefined)
    if (problem === undefined) usable.set(name, each)
    // a text or a default that fits no more is left out: nobody can do more without it
    else if (isBinding(each)) return { usable, broken: `argument ${JSON.stringify(name)} ${problem}` }
  }
  return { usable, broken: undefined }
}

/** Returns the secret values of locks. Throws an error if one is not known. */
function secretsIn(given: UsableArguments['usable'], secrets: SecretsOfTool): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const [name, { lock }] of given) {
    if (!isSecretLock(lock)) continue
    const known = secrets()
    if (!Object.hasOwn(known, name)) throw new Error('a lock has no secret')
    found.set(name, known[name]!)
  }
  return found
}

/** Returns the JSON texts of locked values. */
const locksOf = (given: UsableArguments['usable'], secrets: ReadonlyMap<string, string>) =>
  new Map(
    [...given].flatMap(([name, override]) =>
      Object.hasOwn(override, 'lock') ? [[name, JSON.stringify(secrets.get(name) ?? override.lock)] as const] : []
    )
  )

/** Returns the tool's text in lists with the override's members. */
function textOf(item: Item, isBare: boolean, { override }: OverrideSource, given: UsableArguments['usable']): string {
  const usual = listEntry(item, isBare)
  const { name, title, description, annotations } = override
  const found = members(usual)
  const changes = new Map<string, string>()
  for (const [key, value] of Object.entries({ name, title, description })) {
    if (value !== undefined) changes.set(key, JSON.stringify(value))
  }
  if (annotations !== undefined) {
    const own = valueOf(usual, found, 'annotations')
    const merged = new Map(Object.entries(annotations).map(([key, value]) => [key, JSON.stringify(value)]))
    changes.set('annotations', editMembers(own?.startsWith('{') ? own : '{}', merged))
  }
  const schema = given.size === 0 ? '' : inputSchemaOf(usual)
  if (typeof schema !== 'string') changes.set('inputSchema', editInputSchema(schema, given))
  return editMembers(usual, changes, found)
}

/** Applies an override to a tool. `isBare`: the group's tools have no prefix. */
export function compileOverride(
  item: Item,
  isBare: boolean,
  source: OverrideSource
): CompiledOverride | BrokenOverride {
  const { override, binding, secrets } = source
  const isChanged = Object.keys(override.arguments ?? {}).length > 0
  const schema = isChanged ? inputSchemaOf(item.stored.definition) : ''
  const { usable, broken } = usableArguments(schema, source)
  if (broken !== undefined) return { item, broken }
  let known: ReadonlyMap<string, string>
  try {
    known = secretsIn(usable, secrets)
  } catch {
    return { item, broken: 'its secrets cannot be decrypted with the current encryption key' }
  }
  const text = textOf(item, isBare, source, usable)
  return {
    ...{ item, override, text, secrets: createLockedSecrets(known) },
    editArguments: compileArguments(usable, locksOf(usable, known)),
    name: override.name ?? (isBare ? item.alias : item.publicName),
    isStale: binding !== undefined && binding.fingerprint !== servedFingerprint(item),
    policyItem: override.annotations === undefined ? item : { ...item, listed: { definition: text } }
  }
}

/** Returns true for an override that is applied. */
export const isCompiled = (result: CompiledOverride | BrokenOverride): result is CompiledOverride => 'text' in result
