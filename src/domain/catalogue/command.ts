import { loadsCode } from '../loading-variables.ts'
import { checkValues, fillSlot, toSlot } from './slots.ts'
import type { Inputs, InstallValues, Slot, ValueFindings } from './slots.ts'
import type { EntryArgument, EntryPackage, EntryPair } from './entry.ts'

/** Program that downloads and runs packages of one registry */
interface Runtime {
  readonly command: string
  /** Arguments before those of the entry */
  readonly before: readonly string[]
  /** Arguments after the package */
  readonly after?: readonly string[]
  /** Options that an entry may give before the package: any other could run something else in its place. */
  readonly options: { readonly flags: readonly string[]; readonly valued: readonly string[] }
}

interface PackageKind {
  readonly runtimes: readonly [Runtime, ...Runtime[]]
  /** Registries that the runtimes use without further configuration */
  readonly registries: RegExp
  readonly identifier: RegExp
  target(identifier: string, version: string | undefined): string
}

const joined = (separator: string) => (identifier: string, version: string | undefined) =>
  version === undefined ? identifier : `${identifier}${separator}${version}`
const run = ['run', '-i', '--rm']
const containerOptions = {
  flags: ['-i', '--interactive', '--rm', '--init', '--read-only'],
  valued: [
    '-v',
    '--volume',
    '--mount',
    '-e',
    '--env',
    '--network',
    '--name',
    '--add-host',
    '-u',
    '--user',
    '-w',
    '--workdir'
  ]
}

/** Identifiers must be plain names: a path, URL or option would make the runtime do something else. */
const kinds: Readonly<Record<string, PackageKind>> = {
  npm: {
    runtimes: [
      { command: 'npx', before: ['-y'], options: { flags: ['-y', '--yes', '-q', '--quiet'], valued: [] } },
      { command: 'bunx', before: [], options: { flags: [], valued: [] } }
    ],
    registries: /^https:\/\/registry\.npmjs\.org\/?$/,
    identifier: /^(@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/i,
    target: joined('@')
  },
  pypi: {
    runtimes: [
      { command: 'uvx', before: [], options: { flags: ['-q', '--quiet'], valued: ['-p', '--python'] } },
      { command: 'pipx', before: ['run'], options: { flags: ['-q', '--quiet'], valued: ['--python'] } }
    ],
    registries: /^https:\/\/pypi\.org(\/simple)?\/?$/,
    identifier: /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i,
    target: joined('==')
  },
  oci: {
    runtimes: [
      { command: 'docker', before: run, options: containerOptions },
      { command: 'podman', before: run, options: containerOptions }
    ],
    registries: /^https:\/\/(docker\.io|ghcr\.io|quay\.io|mcr\.microsoft\.com)\/?$/,
    identifier: /^[a-z0-9][a-z0-9._-]*(:\d+)?(\/[a-z0-9._-]+)*(:[\w][\w.-]*)?(@sha256:[0-9a-f]{64})?$/i,
    target: (identifier, version) =>
      version === undefined || /[@:][^/]*$/.test(identifier) ? identifier : `${identifier}:${version}`
  },
  nuget: {
    runtimes: [{ command: 'dnx', before: [], after: ['--yes', '--'], options: { flags: ['--yes'], valued: [] } }],
    registries: /^https:\/\/api\.nuget\.org(\/v3\/index\.json)?\/?$/,
    identifier: /^[a-z0-9_][a-z0-9._-]*$/i,
    target: joined('@')
  }
}

const isVersion = (version: string) => /^[a-z0-9][a-z0-9.+_!-]*$/i.test(version)

/** Argument of the command: a slot, with the name of a named argument before it */
interface ArgumentSlot {
  readonly name?: string
  readonly slot: Slot
  /** True for a named argument without a value, which is given or left out */
  readonly isFlag: boolean
}

/** Command of a package with places for values */
export interface CommandPlan {
  readonly inputs: Inputs
  readonly runtime: Runtime
  readonly target: string
  readonly isContainer: boolean
  readonly runtimeArguments: readonly ArgumentSlot[]
  readonly packageArguments: readonly ArgumentSlot[]
  readonly env: readonly (readonly [name: string, slot: Slot])[]
}

export interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

const takesValue = (argument: EntryArgument) =>
  ['value', 'default', 'valueHint', 'format', 'choices', 'placeholder'].some((key) => key in argument)

function argumentSlots(given: readonly EntryArgument[] = [], inputs: Inputs): ArgumentSlot[] {
  return given.map((argument) => {
    const { type, name, valueHint, isRepeated = false } = argument
    if (type === 'positional') {
      const label = valueHint ?? name ?? 'argument'
      return { slot: toSlot(label, argument, { label, isRepeated }, inputs), isFlag: false }
    }
    const flag = name ?? ''
    const isFlag = !takesValue(argument)
    const input = isFlag ? ({ ...argument, format: 'boolean', isRequired: false } as const) : argument
    const fixed = isFlag && argument.isRequired === true
    const slot = fixed
      ? { pieces: ['true'], isRequired: true, isRepeated: false }
      : toSlot(flag.replace(/^-+/, ''), input, { label: flag, isRepeated: isRepeated && !isFlag }, inputs)
    return { name: flag, slot, isFlag }
  })
}

/** Variables with which a program downloads its package from, or trusts, another host, or runs its container there */
const redirects =
  /^(?:(?:https?|all|no|ftp)_proxy|node_tls_reject_unauthorized|node_extra_ca_certs|ssl_cert_(?:file|dir)|(?:curl|requests)_ca_bundle|container_host|containers_.*|docker_.*|registry_auth_file)$/i

/** Returns the reason why a variable set by the publisher is refused, if any. */
function variableProblem({ name, value, default: fallback }: EntryPair): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name)) return 'it has an environment variable without a valid name'
  const isSet = value !== undefined || fallback !== undefined
  return isSet && (loadsCode(name) || redirects.test(name))
    ? `it sets ${name}, which can make a program load other code`
    : undefined
}

const runtimeOf = (kind: PackageKind, hint: string | undefined): Runtime =>
  kind.runtimes.find(({ command }) => command === hint) ?? kind.runtimes[0]

/** Returns the reason why an argument before the package is refused, if any: the package named must be what runs. */
function runtimeArgumentProblem(argument: EntryArgument, runtime: Runtime, target: string): string | undefined {
  const { type, name = '', value } = argument
  const { flags, valued } = runtime.options
  const isAllowed =
    type === 'positional'
      ? value !== undefined && [...runtime.before, ...flags, target].includes(value)
      : (takesValue(argument) ? valued : flags).includes(name)
  return isAllowed ? undefined : `it gives ${runtime.command} an argument with which something else could run`
}

/** Returns the reason why the gateway cannot run a package, if any. */
function packageProblem(item: EntryPackage): string | undefined {
  const { registryType, registryBaseUrl, identifier, version, transport, runtimeHint, runtimeArguments = [] } = item
  const kind = Object.hasOwn(kinds, registryType) ? kinds[registryType] : undefined
  if (!kind) return `packages of the type "${registryType}" are not supported`
  if (transport !== 'stdio') return `its program listens for ${transport} instead of using stdio`
  if (registryBaseUrl !== undefined && !kind.registries.test(registryBaseUrl))
    return 'it is in a package registry of its own, which is not supported'
  if (!kind.identifier.test(identifier) || (version !== undefined && !isVersion(version)))
    return 'the name or version of its package is not valid'
  const isKnown = runtimeHint === undefined || kind.runtimes.some(({ command }) => command === runtimeHint)
  if (!isKnown && runtimeArguments.length > 0) return `it needs the runtime "${runtimeHint}", which is not supported`
  const runtime = runtimeOf(kind, runtimeHint)
  const target = kind.target(identifier, version)
  return (
    runtimeArguments.map((argument) => runtimeArgumentProblem(argument, runtime, target)).find(Boolean) ??
    item.environmentVariables?.map(variableProblem).find(Boolean)
  )
}

/** Reads how a package is run. Returns the reason if the gateway cannot run it. */
export function planCommand(item: EntryPackage): CommandPlan | string {
  const problem = packageProblem(item)
  if (problem !== undefined) return problem
  const { registryType, identifier, version, runtimeHint, environmentVariables = [] } = item
  const kind = kinds[registryType]!
  const inputs: Inputs = new Map()
  const env = environmentVariables.map((pair) => {
    return [pair.name, toSlot(pair.name, pair, { label: pair.name }, inputs)] as const
  })
  return {
    inputs,
    runtime: runtimeOf(kind, runtimeHint),
    target: kind.target(identifier, version),
    isContainer: registryType === 'oci',
    runtimeArguments: argumentSlots(item.runtimeArguments, inputs),
    packageArguments: argumentSlots(item.packageArguments, inputs),
    env
  }
}

function fillArguments(
  slots: readonly ArgumentSlot[],
  inputs: Inputs,
  values: InstallValues,
  findings: ValueFindings
): string[] {
  return slots.flatMap(({ name, slot, isFlag }) => {
    const texts = fillSlot(slot, inputs, values, findings)
    if (isFlag) return texts[0] === 'true' ? [name!] : []
    return texts.flatMap((text) => (name === undefined ? [text] : [name, text]))
  })
}

/** Fills in the values and returns the command. Problems are added to `findings`. */
export function fillCommand(plan: CommandPlan, values: InstallValues, findings: ValueFindings): Command {
  const { inputs, runtime, target, isContainer } = plan
  checkValues(inputs, values, findings)
  const env = Object.fromEntries(
    plan.env.flatMap(([name, slot]) => fillSlot(slot, inputs, values, findings).map((text) => [name, text] as const))
  )
  // entries often repeat the arguments and the package that the runtime gets anyway
  const repeated = new Set([...runtime.before, ...(runtime.command === 'npx' ? ['--yes'] : []), target])
  const own = plan.runtimeArguments.flatMap((argument) => {
    const texts = fillArguments([argument], inputs, values, findings)
    const isPair = argument.name !== undefined && !argument.isFlag
    return isPair ? texts : texts.filter((text) => !repeated.has(text))
  })
  // a container gets variables by name, so that no value is among the arguments
  const passed = isContainer ? Object.keys(env).flatMap((name) => ['-e', name]) : []
  const args = [
    ...runtime.before,
    ...own,
    ...passed,
    target,
    ...(runtime.after ?? []),
    ...fillArguments(plan.packageArguments, inputs, values, findings)
  ]
  return { command: runtime.command, args, env }
}
