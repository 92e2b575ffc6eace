import { toVariableName, type ImportVariables } from './variables.ts'
import type { ImportFindings } from './entry.ts'
import { isObject } from '../is-object.ts'

type Members = Readonly<Record<string, unknown>>

const list = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.filter(isObject) : [])
const textOrUndefined = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Returns the `server.json` of the MCP registry, which its API wraps in an object. */
export function findServerJson(value: Members): Members | undefined {
  const entry = isObject(value.server) ? value.server : value
  return typeof entry.name === 'string' && (Array.isArray(entry.packages) || Array.isArray(entry.remotes))
    ? entry
    : undefined
}

/** Replaces `{name}` of an input's declared variables by `${NAME}`. */
function withVariables(text: string, declared: unknown, variables: ImportVariables): string {
  if (!isObject(declared)) return text
  return text.replace(/\{([^{}]+)\}/g, (whole, name: string) =>
    Object.hasOwn(declared, name) ? addVariable(name, declared[name], variables) : whole
  )
}

function addVariable(id: string, input: unknown, variables: ImportVariables): string {
  const { description, isSecret, default: given } = isObject(input) ? input : {}
  const name = toVariableName(id)
  variables.set(name, {
    name,
    isSecret: isSecret === true,
    ...(typeof description === 'string' ? { description } : {}),
    ...(typeof given === 'string' ? { default: given } : {})
  })
  return `\${${name}}`
}

/** Returns the value of an input; undefined for an optional input without a default. */
function valueOf(input: Members, id: string, variables: ImportVariables): string | undefined {
  const fixed = textOrUndefined(input.value)
  if (fixed !== undefined) return withVariables(fixed, input.variables, variables)
  if (input.isRequired === true) return addVariable(id, input, variables)
  return textOrUndefined(input.default)
}

function argsOf(value: unknown, variables: ImportVariables): string[] {
  return list(value).flatMap((input) => {
    const name = textOrUndefined(input.name)
    if (input.type !== 'named')
      return valueOf(input, textOrUndefined(input.valueHint) ?? name ?? 'argument', variables) ?? []
    if (name === undefined) return []
    const id = name.replace(/^-+/, '')
    const hasValue = ['value', 'default', 'valueHint', 'format', 'choices'].some((key) => key in input)
    if (!hasValue) return input.isRequired === true ? [name] : []
    const given = valueOf(input, id, variables)
    return given === undefined ? [] : [name, given]
  })
}

/** Returns named inputs by name: environment variables or headers. */
const namedOf = (value: unknown, variables: ImportVariables): Record<string, string> =>
  Object.fromEntries(
    list(value).flatMap((input) => {
      const name = textOrUndefined(input.name)
      const given = name === undefined ? undefined : valueOf(input, name, variables)
      return name === undefined || given === undefined ? [] : [[name, given]]
    })
  )

const runners: Readonly<Record<string, (id: string, version: string | undefined) => [string, ...string[]]>> = {
  npm: (id, version) => ['npx', '-y', version === undefined ? id : `${id}@${version}`],
  pypi: (id, version) => ['uvx', version === undefined ? id : `${id}==${version}`]
}

function packageEntry(item: Members, variables: ImportVariables): Members | undefined {
  const run = runners[textOrUndefined(item.registryType) ?? '']
  const id = textOrUndefined(item.identifier)
  const transport = isObject(item.transport) ? item.transport.type : 'stdio'
  if (!run || id === undefined || transport !== 'stdio') return undefined
  const [command, ...words] = run(id, textOrUndefined(item.version))
  const target = words.pop()!
  return {
    command,
    args: [...words, ...argsOf(item.runtimeArguments, variables), target, ...argsOf(item.packageArguments, variables)],
    env: namedOf(item.environmentVariables, variables)
  }
}

const remoteEntry = (item: Members, variables: ImportVariables): Members => ({
  type: item.type,
  url: withVariables(textOrUndefined(item.url) ?? '', item.variables, variables),
  headers: namedOf(item.headers, variables)
})

/**
 * Converts a `server.json` to a client's configuration entry. Remote addresses come first, since they need no local
 * process: `streamable-http` before `sse`, then the packages in their order.
 */
export function convertServerJson(value: Members, variables: ImportVariables, remarks: ImportFindings): Members {
  const remotes = list(value.remotes).toSorted((a, b) => Number(a.type === 'sse') - Number(b.type === 'sse'))
  const packages = list(value.packages)
  const more = remotes.length + packages.length - 1
  if (more > 0) remarks.notes.push(`only the first of ${more + 1} remotes and packages is used`)
  const description = textOrUndefined(value.description)
  const common = description === undefined ? {} : { description }
  if (remotes[0]) return { ...common, ...remoteEntry(remotes[0], variables) }
  const found = packages.map((item) => packageEntry(item, variables)).find((entry) => entry !== undefined)
  if (found) return { ...common, ...found }
  remarks.problems.push('it has no remote, and no npm or PyPI package with the stdio transport')
  return common
}
