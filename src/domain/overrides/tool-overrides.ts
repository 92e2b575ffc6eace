import { isObject } from '../is-object.ts'
import { MASK } from '../secrets/secret-parts.ts'

/** Value of a lock that is stored encrypted and shown as `***` */
export interface SecretLock {
  readonly secret: string
}

/** Changes of one top-level property of a tool's input schema; a lock excludes the others. */
export interface ArgumentOverride {
  /** JSON value that every call gets, or a secret */
  readonly lock?: unknown
  /** JSON value that calls without the argument get */
  readonly default?: unknown
  readonly description?: string
  /** Strings, numbers, booleans and null that callers may send */
  readonly enum?: readonly unknown[]
}

/** Members that a group shows of a tool instead of the definition's own (groups.md#views) */
export interface ToolOverride {
  /** Name at the group's endpoint */
  readonly name?: string
  readonly title?: string
  readonly description?: string
  /** Merged into the tool's own annotations */
  readonly annotations?: Readonly<Record<string, unknown>>
  /** By the name of the property */
  readonly arguments?: Readonly<Record<string, ArgumentOverride>>
}

/** Overrides by `<server>__<tool>` */
export type ToolOverrides = Readonly<Record<string, ToolOverride>>

/** Definition that an override was written for */
export interface OverrideBinding {
  /** Canonical fingerprint of the definition */
  readonly fingerprint: string
  /** Canonical types of the locked and narrowed properties, by their names */
  readonly types: Readonly<Record<string, string>>
}

/** Bindings by the names of the overrides */
export type OverrideBindings = Readonly<Record<string, OverrideBinding>>

/** Rule of the names that a group may give its tools, for error messages */
export const TOOL_NAME_RULE = 'must be 1 to 64 letters, digits, "_", "-" or "."'

/** Tests for a name that a group may give a tool: language models accept no others. */
export const isToolName = (name: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(name)

export const isSecretLock = (lock: unknown): lock is SecretLock =>
  isObject(lock) && typeof lock.secret === 'string' && Object.keys(lock).length === 1

/** Secrets of locks by tool and argument */
export type LockSecrets = Readonly<Record<string, Readonly<Record<string, string>>>>

const secretArguments = ({ arguments: given = {} }: ToolOverride): [string, string][] =>
  Object.entries(given).flatMap(([name, { lock }]): [string, string][] =>
    isSecretLock(lock) ? [[name, lock.secret]] : []
  )

/** Returns the secrets in the locks; an empty object if there are none. */
export const secretsOfLocks = (overrides: ToolOverrides): LockSecrets =>
  Object.fromEntries(
    Object.entries(overrides)
      .map(([tool, override]) => [tool, Object.fromEntries(secretArguments(override))] as const)
      .filter(([, secrets]) => Object.keys(secrets).length > 0)
  )

/** Returns the overrides with another text for each secret. */
export function mapSecrets(
  overrides: ToolOverrides,
  secretOf: (tool: string, argument: string, secret: string) => string
): ToolOverrides {
  const mapArgument = (tool: string, name: string, override: ArgumentOverride): ArgumentOverride =>
    isSecretLock(override.lock)
      ? { ...override, lock: { secret: secretOf(tool, name, override.lock.secret) } }
      : override
  const mapTool = (tool: string, override: ToolOverride): ToolOverride => {
    if (secretArguments(override).length === 0) return override
    const mapped = Object.entries(override.arguments!).map(([name, each]) => [name, mapArgument(tool, name, each)])
    return { ...override, arguments: Object.fromEntries(mapped) as ToolOverride['arguments'] & object }
  }
  return Object.fromEntries(Object.entries(overrides).map(([tool, override]) => [tool, mapTool(tool, override)]))
}

/** Returns the overrides with `***` for each secret. */
export const maskLocks = (overrides: ToolOverrides): ToolOverrides => mapSecrets(overrides, () => MASK)

const ownMember = <T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined

/** Returns the overrides with the known secret for each `***`; one that is not known stays. */
export const unmaskLocks = (overrides: ToolOverrides, known: LockSecrets): ToolOverrides =>
  mapSecrets(overrides, (tool, name, secret) =>
    secret === MASK ? (ownMember(ownMember(known, tool), name) ?? secret) : secret
  )
