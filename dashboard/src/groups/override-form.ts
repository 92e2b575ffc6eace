import type { ArgumentOverride, ToolOverride } from '../../../src/domain/overrides/tool-overrides.ts'
import { isSecretLock } from '../../../src/domain/overrides/tool-overrides.ts'
import { isObject } from '../../../src/domain/is-object.ts'
import { MASK } from '../../../src/domain/secrets/secret-parts.ts'

export const argumentModes = ['open', 'fixed', 'secret'] as const
export type ArgumentMode = (typeof argumentModes)[number]

/** Fields of one property of a tool's input schema. */
export interface ArgumentForm {
  readonly name: string
  /** The property takes nothing but texts, which are then typed without quotation marks. */
  readonly isText: boolean
  /** Type of the property, for display. */
  readonly type: string
  readonly isRequired: boolean
  readonly mode: ArgumentMode
  /** Locked value as typed. */
  readonly fixed: string
  /** Null: the stored secret stays. */
  readonly secret: string | null
  readonly byDefault: string
  /** One value per line. */
  readonly choices: string
  readonly description: string
}

/** Fields of an override; an empty one changes nothing. */
export interface OverrideForm {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly arguments: readonly ArgumentForm[]
  /** Members without a field here. */
  readonly others: Pick<ToolOverride, 'annotations'>
}

type Schema = Readonly<Record<string, unknown>>

const print = (value: unknown, isText: boolean): string =>
  isText && typeof value === 'string' ? value : JSON.stringify(value)

const typeText = ({ type }: Schema): string =>
  typeof type === 'string' ? type : Array.isArray(type) ? type.join(' or ') : ''

function argumentForm(
  name: string,
  schema: unknown,
  required: readonly unknown[],
  override: ArgumentOverride = {}
): ArgumentForm {
  const own = isObject(schema) ? schema : {}
  const isText = own.type === 'string'
  const has = (member: keyof ArgumentOverride) => Object.hasOwn(override, member)
  const isSecret = isSecretLock(override.lock)
  return {
    name,
    isText,
    type: typeText(own),
    isRequired: required.includes(name),
    mode: isSecret ? 'secret' : has('lock') ? 'fixed' : 'open',
    fixed: has('lock') && !isSecret ? print(override.lock, isText) : '',
    secret: isSecret ? null : '',
    byDefault: has('default') ? print(override.default, isText) : '',
    choices: (override.enum ?? []).map((value) => print(value, isText)).join('\n'),
    description: override.description ?? ''
  }
}

/** Returns the fields for an override of a tool with this input schema, those of properties that are gone included. */
export function formOf(inputSchema: Schema | undefined, override: ToolOverride = {}): OverrideForm {
  const { name = '', title = '', description = '', annotations, arguments: given = {} } = override
  const properties = isObject(inputSchema?.properties) ? inputSchema.properties : {}
  const required = Array.isArray(inputSchema?.required) ? inputSchema.required : []
  const names = [...new Set([...Object.keys(properties), ...Object.keys(given)])]
  const overrideOf = (argument: string) => (Object.hasOwn(given, argument) ? given[argument] : undefined)
  const schemaOf = (argument: string) => (Object.hasOwn(properties, argument) ? properties[argument] : undefined)
  return {
    name,
    title,
    description,
    arguments: names.map((argument) => argumentForm(argument, schemaOf(argument), required, overrideOf(argument))),
    others: annotations === undefined ? {} : { annotations }
  }
}

/** Values of a field that are no JSON. */
class NoJson extends Error {}

function parse(text: string, { isText, name }: ArgumentForm): unknown {
  if (isText) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new NoJson(`${name}: ${text} is not JSON. Texts need quotation marks.`)
  }
}

function argumentOf(form: ArgumentForm): ArgumentOverride | undefined {
  const { mode, fixed, secret, byDefault, choices, description } = form
  if (mode === 'secret') return { lock: { secret: secret ?? MASK } }
  if (mode === 'fixed') return { lock: parse(fixed, form) }
  const lines = choices.split('\n').filter((line) => line.trim() !== '')
  const override = {
    ...(byDefault === '' ? {} : { default: parse(byDefault, form) }),
    ...(lines.length === 0 ? {} : { enum: lines.map((line) => parse(line, form)) }),
    ...(description.trim() === '' ? {} : { description })
  }
  return Object.keys(override).length === 0 ? undefined : override
}

/** Returns the override that the fields stand for, undefined if they change nothing, or a sentence with the problem. */
export function overrideOf(form: OverrideForm): ToolOverride | undefined | string {
  const { name, title, description, others } = form
  try {
    const given = form.arguments.flatMap((each): [string, ArgumentOverride][] => {
      const override = argumentOf(each)
      return override === undefined ? [] : [[each.name, override]]
    })
    const override = {
      ...(name.trim() === '' ? {} : { name: name.trim() }),
      ...(title.trim() === '' ? {} : { title }),
      ...(description.trim() === '' ? {} : { description }),
      ...others,
      ...(given.length === 0 ? {} : { arguments: Object.fromEntries(given) })
    }
    return Object.keys(override).length === 0 ? undefined : override
  } catch (error) {
    if (error instanceof NoJson) return error.message
    throw error
  }
}
