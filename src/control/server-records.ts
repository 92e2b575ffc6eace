import type { DefinitionPolicy } from '../domain/definitions/kinds.ts'
import { MASK } from '../domain/secrets/secret-parts.ts'
import type { ServerSecrets, StoredServer } from '../registry/model/model.ts'
import type { LeftOutItem } from '../schemas/left-out.ts'
import { isAdministrator, isAuditor } from '../domain/access/access.ts'
import { messageFor, type Caller } from '../catalog/caller.ts'
import type { CatalogServer } from '../catalog/catalog.ts'
import { leftOutCount } from '../catalog/items/left-out.ts'
import type { StartCostRecord } from './start-costs.ts'

/** Items of a server's lists that are not served; both members are absent if there are none. */
export interface LeftOutRecord {
  readonly left_out_count?: number
  /** The first such items, limited in number and bytes. */
  readonly left_out?: readonly LeftOutItem[]
}

/**
 * A server in REST answers: http-contract.md#server-object plus `enabled` and `notes`. Lists omit `left_out`.
 */
export interface ServerRecord extends LeftOutRecord, StartCostRecord {
  readonly name: string
  readonly transport: string
  readonly description?: string
  readonly url?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly session_mode: string
  /** False if its tools are served without their interfaces; else absent. */
  readonly apps?: false
  /** True if `allow` policies believe the annotations of its tools; else absent. */
  readonly trusted_annotations?: true
  /** Its own policy for definitions that nobody has accepted; absent: that of the gateway. */
  readonly definitions?: DefinitionPolicy
  readonly notes?: readonly string[]
  readonly enabled: boolean
  /** ISO time until which the contents of its calls are recorded; absent if they are not. */
  readonly recorded_until?: string
}

const masked = (env: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.keys(env).map((name) => [name, MASK]))

/** Returns the note on a server whose session mode has no effect. */
const withoutSessions = (mode: string) =>
  `session_mode "${mode}" has no effect: the server issues no session ids, so its requests are independent of each other`

const lacksSessions = ({ transport, session_mode, negotiation }: RecordSource['stored']) =>
  session_mode !== 'stateless' && transport === 'streamable_http' && negotiation?.hasSessions === false

/** Returns the end of the recording of the server's calls, as ISO time; undefined if they are not recorded. */
export const recordedUntil = ({ recording }: Partial<Pick<StoredServer, 'recording'>>): string | undefined =>
  recording && performance.now() < recording.endsAt ? recording.until : undefined

/** Member of records that only servers whose calls are recorded have */
export const recordingMember = (stored: Partial<Pick<StoredServer, 'recording'>>) => {
  const until = recordedUntil(stored)
  return until === undefined ? {} : { recorded_until: until }
}

/** Notes on a server. Users get them without the reason of a failure, which may quote the program. */
const notesOf = (stored: RecordSource['stored'], caller: Caller): string[] => [
  ...(lacksSessions(stored) ? [withoutSessions(stored.session_mode)] : []),
  ...(stored.saveFailure
    ? [
        `saved without an answer of the server${isAuditor(caller) ? `: ${messageFor(caller, stored.saveFailure)}` : ''}; enabling it reads its lists`
      ]
    : [])
]

/** Properties of a server that its record is built from. */
interface RecordSource {
  readonly stored: Pick<StoredServer, 'name' | 'transport' | 'session_mode' | 'description' | 'settings' | 'enabled'> &
    Partial<Pick<StoredServer, 'negotiation' | 'saveFailure' | 'recording'>>
}

/**
 * Returns a server as listed over REST (http-contract.md#server-object): without secrets, and with the values of `env`
 * masked for all but administrators.
 */
export function serverRecord({ stored }: RecordSource, secrets: ServerSecrets, caller: Caller): ServerRecord {
  const { name, transport, description, settings, session_mode, enabled } = stored
  const isStdio = transport === 'stdio'
  const env = secrets.env ?? {}
  const notes = notesOf(stored, caller)
  return {
    name,
    transport,
    ...(description === null ? {} : { description }),
    ...(isStdio ? { command: settings.command ?? '', args: settings.args ?? [] } : { url: settings.url ?? '' }),
    ...(isStdio && Object.keys(env).length > 0 ? { env: isAdministrator(caller) ? env : masked(env) } : {}),
    session_mode,
    ...(settings.apps === false ? { apps: false } : {}),
    ...(settings.trusted_annotations ? { trusted_annotations: true } : {}),
    ...(settings.definitions ? { definitions: settings.definitions } : {}),
    enabled,
    ...recordingMember(stored),
    ...(notes.length > 0 ? { notes } : {})
  }
}

/** Returns the number of items that were left out when the server's lists were read. */
export function leftOutNumber(server: Pick<CatalogServer, 'leftOut'> | undefined): LeftOutRecord {
  return server?.leftOut === undefined ? {} : { left_out_count: leftOutCount(server.leftOut) }
}

/**
 * Returns the number of such items, and for administrators and auditors the items: policies do not decide on names that
 * are served to nobody, so that users would see those of a server that is denied to them.
 */
export function leftOutRecord(server: Pick<CatalogServer, 'leftOut'> | undefined, caller: Caller): LeftOutRecord {
  const items = isAuditor(caller) ? server?.leftOut?.items : undefined
  return { ...leftOutNumber(server), ...(items ? { left_out: items } : {}) }
}
