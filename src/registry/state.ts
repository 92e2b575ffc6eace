import { INSTRUCTIONS } from '../domain/definitions/kinds.ts'
import { sql } from 'kysely'
import { readGroups } from './repositories/groups.ts'
import { readPolicies } from './repositories/policies.ts'
import { readPrincipals } from './repositories/principals.ts'
import { readSigningKeys } from './repositories/signing-keys.ts'
import { readTeams } from './repositories/teams.ts'
import { readTombstones } from './tombstones.ts'
import type {
  DefinitionOrigin,
  LeftOut,
  Negotiation,
  RegistryState,
  ServerSettings,
  StoredDefinition,
  StoredItem,
  StoredServer
} from './model/model.ts'
import { serverColumns } from './repositories/server-rows.ts'
import { recordingLeft } from './repositories/recordings.ts'
import type { Db } from './model/tables.ts'

/** Servers whose rows are read by one statement, so that no query is unbounded */
const CHUNK_SIZE = 100

const serverStateColumns = [
  ...serverColumns,
  'left_out',
  'save_failure',
  'recorded_until',
  'accepted_origin',
  'revision',
  'registered_at',
  'updated_at'
] as const

/**
 * Returns the current state. Only rows whose revision differs from `previous` are read; all other objects are reused.
 */
export function loadState(db: Db, previous?: RegistryState): Promise<RegistryState> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const { version, initialized } = await readGatewayRow(trx)
      if (version === previous?.version) return previous
      const reusable = wasRestored(previous, version) ? undefined : previous
      const known = new Map(reusable?.servers.map((server) => [server.id, server]))
      const groups = await readGroups(trx, reusable?.groups)
      const principals = await readPrincipals(trx, reusable?.principals)
      const policies = await readPolicies(trx, reusable?.policies)
      const teams = await readTeams(trx, reusable?.teams)
      const tombstones = await readTombstones(trx, reusable?.tombstones)
      const signingKeys = await readSigningKeys(trx, reusable?.signingKeys)
      const revisions = await trx.selectFrom('servers').select(['id', 'revision']).execute()
      const stale = revisions.filter(({ id, revision }) => known.get(id)?.revision !== revision)
      const staleIds = stale.map((head) => head.id)
      const read = await readServers(trx, staleIds, known)
      const servers = revisions.map(({ id }) => read.get(id) ?? known.get(id)!)
      const sorted = servers.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      return { version, initialized, servers: sorted, groups, principals, policies, teams, tombstones, signingKeys }
    })
}

async function readGatewayRow(db: Db): Promise<{ version: string; initialized: boolean }> {
  const { version, initialized_at } = await db
    .selectFrom('gateway')
    .select(['version', 'initialized_at'])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  return { version, initialized: initialized_at !== null }
}

export async function readVersion(db: Db): Promise<string> {
  const { version } = await db.selectFrom('gateway').select('version').where('id', '=', 1).executeTakeFirstOrThrow()
  return version
}

/** Detects a database restored from a backup, which assigns known revisions again to other contents. */
const wasRestored = (previous: RegistryState | undefined, version: string) =>
  previous !== undefined && BigInt(version) < BigInt(previous.version)

type KnownServers = ReadonlyMap<string, StoredServer>

async function readServers(db: Db, ids: readonly string[], known: KnownServers): Promise<Map<string, StoredServer>> {
  const servers = new Map<string, StoredServer>()
  for (let at = 0; at < ids.length; at += CHUNK_SIZE) {
    for (const server of await readChunk(db, ids.slice(at, at + CHUNK_SIZE), known)) servers.set(server.id, server)
  }
  return servers
}

async function readChunk(db: Db, ids: readonly string[], known: KnownServers): Promise<StoredServer[]> {
  const rows = await db
    .selectFrom('servers')
    .select(serverStateColumns)
    .select(recordingLeft.as('recording_left'))
    .select((servers) =>
      servers.selectFrom('upstream_tokens').select('issuer').whereRef('server_id', '=', 'servers.id').as('issuer')
    )
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  const definitions = await readDefinitions(db, ids, known)
  return rows.map(
    ({
      registered_at,
      updated_at,
      settings,
      negotiation,
      left_out,
      recorded_until,
      recording_left,
      save_failure,
      accepted_origin,
      ...row
    }) => ({
      ...row,
      settings: JSON.parse(settings) as ServerSettings,
      negotiation: negotiation === null ? null : (JSON.parse(negotiation) as Negotiation),
      ...(left_out === null ? {} : { leftOut: JSON.parse(left_out) as LeftOut }),
      saveFailure: save_failure,
      recording: recorded_until && {
        until: recorded_until.toISOString(),
        endsAt: performance.now() + (recording_left ?? 0)
      },
      registeredAt: registered_at.toISOString(),
      updatedAt: updated_at.toISOString(),
      acceptedOrigin: accepted_origin === null ? null : (JSON.parse(accepted_origin) as DefinitionOrigin),
      ...(definitions.get(row.id) ?? noDefinitions)
    })
  )
}

interface Definitions {
  readonly items: StoredItem[]
  readonly instructions: StoredDefinition | null
}

const noDefinitions: Definitions = { items: [], instructions: null }

const itemColumns = [
  ...(['server_id', 'kind', 'name', 'enabled', 'definition', 'fingerprint', 'changed_at'] as const),
  ...(['accepted', 'state', 'canonical', 'pinned'] as const)
]

const itemKey = ({ kind, name }: Pick<StoredItem, 'kind' | 'name'>) => `${kind} ${name}`

const isSame = (one: StoredItem, other: StoredItem) =>
  one.enabled === other.enabled &&
  one.fingerprint === other.fingerprint &&
  one.definition === other.definition &&
  one.changedAt === other.changedAt &&
  one.state === other.state &&
  one.canonical === other.canonical &&
  one.pinned === other.pinned &&
  one.accepted === other.accepted

/**
 * Returns a function that is called for each item in order, and returns the known one if it is the same: what was made of
 * an item stays with its object.
 */
function createReuse(known: readonly StoredItem[] = []) {
  let at = 0
  let byKey: ReadonlyMap<string, StoredItem> | undefined
  return (read: StoredItem): StoredItem => {
    // most lists keep their order
    const next = known[at++]
    const isNext = next?.name === read.name && next.kind === read.kind
    byKey ??= isNext ? undefined : new Map(known.map((item) => [itemKey(item), item]))
    const candidate = isNext ? next : byKey?.get(itemKey(read))
    return candidate && isSame(read, candidate) ? candidate : read
  }
}

async function readDefinitions(db: Db, ids: readonly string[], known: KnownServers): Promise<Map<string, Definitions>> {
  const rows = await db
    .selectFrom('items')
    .select(itemColumns)
    .where(sql<boolean>`server_id = any(${ids}::uuid[])`)
    .where('position', 'is not', null)
    .orderBy('server_id')
    .orderBy('kind')
    .orderBy('position')
    .execute()
  const found = new Map<string, { items: StoredItem[]; instructions: StoredDefinition | null }>()
  const reuses = new Map(ids.map((id) => [id, createReuse(known.get(id)?.items)] as const))
  for (const { server_id, changed_at, kind, ...item } of rows) {
    const definitions = found.get(server_id) ?? { items: [], instructions: null }
    found.set(server_id, definitions)
    const changedAt = changed_at.toISOString()
    if (kind === INSTRUCTIONS) definitions.instructions = { ...item, changedAt }
    else definitions.items.push(reuses.get(server_id)!({ ...item, kind, changedAt }))
  }
  return found
}
