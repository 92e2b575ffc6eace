import { isObject } from '../is-object.ts'
import { toVariableName } from '../names.ts'
import { secretMaps, secretMembers } from '../secrets/secret-parts.ts'

/** Variable that an imported configuration leaves for the user to fill in */
export interface ImportVariable {
  /** Appears in the registration as `${name}` */
  readonly name: string
  readonly description?: string
  /** True if the value should be hidden while it is typed */
  readonly isSecret: boolean
  /** Used if no other value is given */
  readonly default?: string
}

export type ImportVariables = Map<string, ImportVariable>

/** The `inputs` of a VS Code configuration by id */
export type Inputs = ReadonlyMap<string, Readonly<Record<string, unknown>>>

export function parseInputs(value: unknown): Inputs {
  const list = Array.isArray(value) ? value.filter(isObject) : []
  return new Map(list.flatMap((input) => (typeof input.id === 'string' ? [[input.id, input] as const] : [])))
}

/** Matches `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${input:id}`. */
const reference = /\$\{(?:(env|input):)?([^{}:$]+)(?::-([^{}]*))?\}/g
const anyReference = /\$\{[^{}]*\}/g
const isVariable = (name: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)

const optional = <K extends string>(key: K, value: unknown) =>
  (typeof value === 'string' && value !== '' ? { [key]: value } : {}) as { readonly [key in K]?: string }

/**
 * Rewrites all forms of references to `${NAME}` and adds their variables to `variables`. An unsupported reference adds
 * its member to `problems`.
 */
export function normaliseReferences(
  registration: Readonly<Record<string, unknown>>,
  inputs: Inputs,
  variables: ImportVariables,
  problems: string[]
): Record<string, unknown> {
  const addVariable = (
    kind: string | undefined,
    id: string,
    fallback: string | undefined,
    isSecret: boolean
  ): string => {
    const input = kind === 'input' ? (inputs.get(id) ?? {}) : undefined
    const name = input ? toVariableName(id) : id
    if (!variables.has(name)) {
      const isHidden = input ? input.password === true : isSecret
      const given = optional('default', fallback ?? input?.default)
      variables.set(name, { name, isSecret: isHidden, ...optional('description', input?.description), ...given })
    }
    return `\${${name}}`
  }
  const text = (from: string, member: string): string => {
    const isSecret = secretMembers.has(member) || secretMaps.has(member)
    const written = from.replace(reference, (whole, kind: string | undefined, id: string, fallback?: string) =>
      kind === 'input' || isVariable(id) ? addVariable(kind, id, fallback, isSecret) : whole
    )
    const left = (written.match(anyReference) ?? []).find((each) => !isVariable(each.slice(2, -1)))
    if (left !== undefined)
      problems.push(`${member} contains ${left}, which only the client of that configuration can fill in`)
    return written
  }
  const write = (value: unknown, member: string): unknown => {
    if (typeof value === 'string') return text(value, member)
    if (Array.isArray(value)) return value.map((item) => write(item, member))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, write(item, member)]))
  }
  return Object.fromEntries(Object.entries(registration).map(([member, value]) => [member, write(value, member)]))
}
