import { originOf } from '../../domain/upstream-url.ts'
import { AppError, invalid } from '../../errors.ts'
import type { ServerConfig } from '../../registry/model.ts'
import type { ServerUpdate } from '../../schemas/dashboard/servers.ts'
import type { ServerInput } from '../../schemas/server.ts'

type Map = Readonly<Record<string, string>>
type NullableMap = Readonly<Record<string, string | null>>

const single = ['url', 'bearer_token', 'args', 'oauth_client_id', 'oauth_client_secret'] as const
const maps = ['headers', 'env'] as const

/** Whether what is configured for one would go to the other: same command, or same origin. */
function isSameTarget(update: ServerUpdate, stored: ServerConfig): boolean {
  if ((update.transport === 'stdio') !== (stored.transport === 'stdio')) return false
  if (update.transport === 'stdio') return update.command === stored.command
  return update.url === null || originOf(update.url) === originOf(stored.url)
}

/** Members of which the stored value is asked for, as a message names them. */
const asked = (update: ServerUpdate): string[] => [
  ...single.filter((member) => update[member] === null),
  ...maps.flatMap((member) =>
    Object.entries(update[member] ?? {}).flatMap(([name, value]) => (value === null ? [`${member}.${name}`] : []))
  )
]

function fillMap(member: string, given: NullableMap, stored: Map = {}): Map {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const kept = value ?? (Object.hasOwn(stored, name) ? stored[name] : undefined)
      if (kept === undefined) throw invalid(`"${member}.${name}" has no stored value that could be kept`)
      return [name, kept]
    })
  )
}

/** A client secret that is kept goes to no other authorization server than the one that it was agreed with. */
const isSameIssuer = ({ oauth_client_secret, oauth_issuer = '' }: ServerUpdate, issuer: string | null) =>
  oauth_client_secret !== null || oauth_issuer === '' || issuer === null || oauth_issuer === issuer

/**
 * The whole configuration that an update asks for: where it says null, the stored value. A stored secret never follows to
 * another target: then 400 `secrets_not_kept` names what has to be given again. `issuer`: the authorization server that the
 * server is bound to, null where there is none.
 */
export function withKeptSecrets(update: ServerUpdate, stored: ServerConfig, issuer: string | null): ServerInput {
  const names = isSameTarget(update, stored) ? [] : asked(update)
  if (names.length === 0 && !isSameIssuer(update, issuer)) names.push('oauth_client_secret')
  if (names.length > 0) {
    const text = `the server is another one now: give ${names.map((name) => `"${name}"`).join(', ')} again, or leave it out`
    throw new AppError(400, text, { code: 'secrets_not_kept' })
  }
  const filled: Record<string, unknown> = { ...update, name: stored.name }
  for (const member of single) {
    if (update[member] !== null) continue
    filled[member] = stored[member]
    if (stored[member] === undefined) delete filled[member]
  }
  for (const member of maps) {
    const given = update[member]
    if (given) filled[member] = fillMap(member, given, stored[member])
  }
  return filled as ServerInput
}
