import { isMaskedArgument, MASK, maskArguments } from '../../domain/secrets/secret-parts.ts'
import { originOf } from '../../domain/network/upstream-url.ts'
import { AppError, invalid } from '../../lib/errors.ts'
import type { ServerConfig } from '../../registry/model/model.ts'
import type { ServerUpdate } from '../../schemas/dashboard/servers.ts'
import type { ServerInput } from '../../schemas/server.ts'

type StringMap = Readonly<Record<string, string>>
type NullableStringMap = Readonly<Record<string, string | null>>

const scalarMembers = ['url', 'bearer_token', 'args', 'oauth_client_id', 'oauth_client_secret'] as const
const mapMembers = ['headers', 'env'] as const

/** Returns true if the update has the same command or the same origin, so that stored secrets reach the same party. */
function isSameTarget(update: ServerUpdate, stored: ServerConfig): boolean {
  if ((update.transport === 'stdio') !== (stored.transport === 'stdio')) return false
  if (update.transport === 'stdio') return update.command === stored.command
  return update.url === null || originOf(update.url) === originOf(stored.url)
}

const hasMaskedArgument = (args: readonly string[]) => args.some((_arg, index) => isMaskedArgument(args, index))

/** Lists the members that are to keep stored values, as named in the error message. */
const keptMembers = (update: ServerUpdate): string[] => [
  ...scalarMembers.filter((member) => update[member] === null),
  ...(hasMaskedArgument(update.args ?? []) ? ['args'] : []),
  ...mapMembers.flatMap((member) =>
    Object.entries(update[member] ?? {}).flatMap(([name, value]) => (value === null ? [`${member}.${name}`] : []))
  )
]

function fillMap(member: string, given: NullableStringMap, stored: StringMap = {}): StringMap {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const kept = value ?? (Object.hasOwn(stored, name) ? stored[name] : undefined)
      if (kept === undefined) throw invalid(`"${member}.${name}" has no stored value to keep`)
      return [name, kept]
    })
  )
}

/** Identifies a masked argument within its list: by its text, and if that is only the mask, also by the flag before it. */
const maskedKey = (args: readonly string[], index: number): string =>
  args[index] === MASK ? `${args[index - 1] ?? ''} ${MASK}` : args[index]!

/**
 * Returns the arguments with each masked one replaced by the stored argument that the views show in the same way. One
 * whose origin is unclear stays masked, which later checks reject.
 */
function fillArguments(given: readonly string[], stored: readonly string[] = []): string[] {
  const masked = maskArguments(stored)
  const storedKeys = masked.map((arg, index) => (arg === stored[index] ? undefined : maskedKey(masked, index)))
  const givenKeys = given.map((_arg, index) => (isMaskedArgument(given, index) ? maskedKey(given, index) : undefined))
  return given.map((arg, index) => {
    const key = givenKeys[index]
    if (key === undefined) return arg
    const sources = stored.filter((_arg, at) => storedKeys[at] === key)
    const places = givenKeys.flatMap((each, at) => (each === key ? [at] : []))
    return sources.length === places.length ? sources[places.indexOf(index)]! : arg
  })
}

/** Returns true if a kept client secret would be sent only to the authorization server that issued it. */
const isSameIssuer = ({ oauth_client_secret, oauth_issuer = '' }: ServerUpdate, issuer: string | null) =>
  oauth_client_secret !== null || oauth_issuer === '' || issuer === null || oauth_issuer === issuer

/**
 * Returns the complete configuration for an update, with the stored value of each member that is null and of each
 * masked argument. Stored secrets are never sent to another target: then throws 400 `secrets_not_kept` with the members to enter again. `issuer`: the
 * authorization server that the server is bound to, or null.
 */
export function withKeptSecrets(update: ServerUpdate, stored: ServerConfig, issuer: string | null): ServerInput {
  const names = isSameTarget(update, stored) ? [] : keptMembers(update)
  if (names.length === 0 && !isSameIssuer(update, issuer)) names.push('oauth_client_secret')
  if (names.length > 0) {
    const text = `the server now has another target: give ${names.map((name) => `"${name}"`).join(', ')} again, or leave it out`
    throw new AppError(400, text, { code: 'secrets_not_kept' })
  }
  const filled: Record<string, unknown> = { ...update, name: stored.name }
  for (const member of scalarMembers) {
    if (update[member] !== null) continue
    filled[member] = stored[member]
    if (stored[member] === undefined) delete filled[member]
  }
  if (update.args) filled.args = fillArguments(update.args, stored.args)
  for (const member of mapMembers) {
    const given = update[member]
    if (given) filled[member] = fillMap(member, given, stored[member])
  }
  return filled as ServerInput
}
