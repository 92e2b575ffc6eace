import type { FoundServer } from '../clients/find.ts'
import { OWN_ENTRY } from '../../domain/import/formats.ts'
import type { Registration } from '../../domain/import/entry.ts'
import { expandPlaceholders } from '../../domain/placeholders.ts'
import { PRODUCT } from '../../domain/product.ts'

/** One server, however many clients have it. */
export interface MergedServer {
  /** Name at the gateway. */
  readonly name: string
  /** Body of the registration, with variables expanded. */
  readonly registration: Registration
  /** Other spellings of the same address, for servers that accept only one. */
  readonly alternatives: readonly Registration[]
  /** Equal for equal servers. Contains secrets. */
  readonly identity: string
  readonly sources: readonly FoundServer[]
  /** True if some client starts it. */
  readonly isEnabled: boolean
  /** True if the gateway has it already. */
  readonly isRegistered: boolean
  /** Reasons why the gateway cannot use it. */
  readonly problems: readonly string[]
}

const sorted = (map: Readonly<Record<string, string>> = {}, lower = false) =>
  Object.entries(map)
    .map(([name, value]) => [lower ? name.toLowerCase() : name, value] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))

function normalUrl(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  url.hash = ''
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url.href
}

/**
 * Returns a text that is equal for servers with the same command, arguments and variables, or with the same address and
 * headers.
 */
export function identityOf({ url, command, args = [], env, headers, bearer_token }: Partial<Registration>): string {
  if (url === undefined) return JSON.stringify([command, args, sorted(env)])
  const token = bearer_token ? { authorization: `Bearer ${bearer_token}` } : {}
  return JSON.stringify([normalUrl(url), sorted({ ...headers, ...token }, true)])
}

/** Returns true for an entry that points a client at this gateway, or at the one that it used before. */
const isGateway = ({ name, imported }: FoundServer) => name === PRODUCT || imported.problems.includes(OWN_ENTRY)

interface Expanded {
  readonly registration: Registration
  readonly problems: readonly string[]
}

/** Expands variables from the environment and from the defaults of the file. */
function expand({ imported }: FoundServer, env: Readonly<Record<string, string | undefined>>): Expanded {
  const defaults = new Map(imported.variables.map((variable) => [variable.name, variable.default]))
  const { value, unset } = expandPlaceholders(imported.registration, (name) => env[name] ?? defaults.get(name))
  const names = [...new Set(unset.map(({ name }) => name))]
  const missing = names.length === 0 ? [] : [`${names.join(' and ')} is not set in the environment of this command`]
  return { registration: value as Registration, problems: [...imported.problems, ...missing] }
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let count = 1; ; count++) {
    const suffix = count === 1 ? '' : `-${count}`
    const candidate = `${name.slice(0, 64 - suffix.length)}${suffix}`
    if (!taken.has(candidate)) return candidate
  }
}

/** Adds a registration if its address differs from those that are known. */
function alternativesOf(before: MergedServer | undefined, registration: Registration): readonly Registration[] {
  if (!before) return []
  const { alternatives } = before
  const isKnown = [before.registration, ...alternatives].some(({ url }) => url === registration.url)
  return isKnown ? alternatives : [...alternatives, registration]
}

/** Merges equal servers of all clients and names them. `registered` are the configurations at the gateway. */
export function mergeServers(
  found: readonly FoundServer[],
  registered: readonly Registration[],
  env: Readonly<Record<string, string | undefined>>
): MergedServer[] {
  const existing = new Map(registered.map((config) => [identityOf(config), config.name]))
  const taken = new Set(registered.map(({ name }) => name))
  const merged = new Map<string, MergedServer>()
  for (const source of found.filter((each) => !isGateway(each))) {
    const { registration, problems } = expand(source, env)
    // what cannot be registered is equal to nothing else
    const identity = problems.length > 0 ? JSON.stringify([source.file, source.path]) : identityOf(registration)
    const before = merged.get(identity)
    const known = existing.get(identity)
    const name = before?.name ?? known ?? freeName(registration.name, taken)
    taken.add(name)
    merged.set(identity, {
      name,
      identity,
      registration: { ...(before?.registration ?? registration), name },
      alternatives: alternativesOf(before, { ...registration, name }),
      sources: [...(before?.sources ?? []), source],
      isEnabled: (before?.isEnabled ?? false) || source.isEnabled,
      isRegistered: known !== undefined,
      problems
    })
  }
  return [...merged.values()]
}
