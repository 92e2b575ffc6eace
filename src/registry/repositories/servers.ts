import { randomUUID } from 'node:crypto'
import { sql, type Insertable } from 'kysely'
import { AppError, conflict, notFound } from '../../lib/errors.ts'
import type { MasterKeys } from '../crypto/envelope-encryption.ts'
import { decryptSecrets, encryptSecrets, hasUnmaskedSecrets, maskSettings } from '../crypto/server-secrets.ts'
import type { DefinitionOrigin, ServerConfig, ServerSettings, UpstreamOffer } from '../model/model.ts'
import type { Db, Tables } from '../model/tables.ts'
import { isUniqueViolation } from '../store/failures.ts'
import { findServer, revisionColumns, type WriteContext } from './context.ts'
import { enabledNames, readFingerprints, storeItems, type ListDifference, type StoredListDifference } from './items.ts'
import { originOfServer, restorePins, retirePins, seedFirstPins } from './pins.ts'
import { isSamePlace, setRecording } from './recordings.ts'
import {
  auditMembers,
  changedInstructions,
  leftOutSize,
  redactorFor,
  storedAuditMembers,
  toAuditedNegotiation
} from './server-audit.ts'
import {
  canDecrypt,
  decryptIfPossible,
  isSameConfig,
  isSameNegotiation,
  serverColumns,
  toConfig,
  type ConnectionConfig,
  type ServerRow
} from './server-rows.ts'

const noDifference: ListDifference = { added: [], removed: [], changed: [], unchanged: true }

/** Creates the repository of servers for a write. Names are exact; methods throw a 404 AppError for an unknown name. */
export const createServerRepository = (context: WriteContext) => ({
  /**
   * Inserts a server and returns its id. Throws a 409 AppError if the name is taken; the transaction is then aborted, so
   * the error must propagate.
   */
  create: (config: ServerConfig, offer: UpstreamOffer) => insertServer(context, config, offer),

  /** Inserts a server in place of the one of its name, if there is one, with that one's pins (`force`). Returns its id. */
  recreate: (config: ServerConfig, offer: UpstreamOffer) => recreateServer(context, config, offer),

  /** Inserts a disabled server whose lists could not be read, with the reason. 409 like `create`. */
  createDisabled: (config: ServerConfig, failure: string) => insertDisabledServer(context, config, failure),

  async remove(name: string): Promise<void> {
    if (!(await removeServerIfExists(context, name))) throw notFound('server', name)
  },

  /**
   * Replaces a server's configuration and returns its id. The server's enabled flag and those of the remaining items are
   * kept. Throws a 409 AppError if its configuration no longer equals `expected`.
   */
  replace: (name: string, config: ServerConfig, offer: UpstreamOffer, expected?: ConnectionConfig) =>
    replaceServer(context, name, config, offer, expected),

  /**
   * Encrypts secrets in URLs and arguments that version 0.1 stored in plain text, and returns the names of the changed
   * servers. Skips servers whose secrets cannot be decrypted.
   */
  encryptPlainSecrets: () => encryptPlainSecrets(context),

  /**
   * Enables or disables a server, and returns the upstream's names of its enabled tools and prompts: those that appear
   * or disappear if `changed` is true.
   */
  setEnabled: (name: string, enabled: boolean) => setServerEnabled(context, name, enabled),

  /** Records the contents of the server's calls for a number of minutes; 0 ends that. */
  setRecording: (name: string, minutes: number) => setRecording(context, name, minutes),

  /**
   * Stores refreshed lists, keeping the items' enabled flags, and the negotiated protocol. Changes nothing if only
   * `checkedAt` or `listTtlMs` differ, if the server is gone, if its configuration no longer equals `expected`, or if a
   * read that began later is stored already, by this replica or another.
   */
  refresh: (id: string, offer: UpstreamOffer, expected?: ConnectionConfig) => storeRefresh(context, id, offer, expected)
})

const configColumns = ({ encryptionKeys, version }: WriteContext, id: string, config: ServerConfig) => ({
  transport: config.transport,
  description: config.description ?? null,
  session_mode: config.session_mode,
  settings: JSON.stringify(maskSettings(config)),
  sealed: encryptSecrets(encryptionKeys, id, config),
  revision: version
})

const leftOutText = ({ leftOut }: UpstreamOffer): string | null => (leftOut ? JSON.stringify(leftOut) : null)

const columns = (context: WriteContext, id: string, config: ServerConfig, offer: UpstreamOffer) => ({
  ...configColumns(context, id, config),
  negotiation: JSON.stringify(offer.negotiation),
  left_out: leftOutText(offer),
  list_read: offer.read ?? null,
  save_failure: null
})

async function insertRow(db: Db, row: Insertable<Tables['servers']>): Promise<void> {
  try {
    await db.insertInto('servers').values(row).execute()
  } catch (error) {
    throw isUniqueViolation(error, 'servers_name_key') ? conflict('server', row.name) : error
  }
}

async function insertDisabledServer(context: WriteContext, config: ServerConfig, failure: string): Promise<void> {
  const id = randomUUID()
  const { name } = config
  await insertRow(context.db, {
    id,
    name,
    ...configColumns(context, id, config),
    enabled: false,
    negotiation: null,
    save_failure: failure
  })
  await restorePins(context.db, id, name)
  if (config.pins) await seedFirstPins(context.db, id, config.pins)
  context.recordEffect({ after: { ...auditMembers(config, null, false), save_failure: failure } })
}

async function insertServer(context: WriteContext, config: ServerConfig, offer: UpstreamOffer): Promise<string> {
  const { db } = context
  const id = randomUUID()
  await insertRow(db, { id, name: config.name, ...columns(context, id, config, offer) })
  await restorePins(db, id, config.name)
  return storeFirstItems(context, id, config, offer)
}

async function storeFirstItems(
  context: WriteContext,
  id: string,
  config: ServerConfig,
  offer: UpstreamOffer
): Promise<string> {
  const stored = await storeItems(context, id, offer, config.pins)
  context.recordEffect({ after: { ...auditMembers(config, offer.negotiation, true), items: stored.after } })
  await recordHolds(context, { id, name: config.name }, originOfServer(config, offer.negotiation), stored)
  return id
}

/** Notes where the server is if everything was accepted, and adds an audit row if something is held now. */
async function recordHolds(
  { db, recordConsequence, recordHold }: WriteContext,
  { id, name }: { readonly id: string; readonly name: string },
  origin: DefinitionOrigin,
  { held, isFirst }: StoredListDifference
): Promise<void> {
  if (isFirst) {
    await db
      .updateTable('servers')
      .set({ accepted_origin: JSON.stringify(origin) })
      .where('id', '=', id)
      .execute()
  }
  if (held === undefined) return
  const effect = { before: { definitions: held.before }, after: { definitions: held.after } }
  recordConsequence({ action: 'definition.hold', target: name, effect })
  recordHold({ server: name, ...held })
}

async function removeServerIfExists(context: WriteContext, name: string): Promise<boolean> {
  const { db } = context
  const before = await findRow(db, name)
  if (!before) return false
  await retirePins(db, before.id, name)
  await recordRemoval(context, before)
  await db.deleteFrom('servers').where('id', '=', before.id).execute()
  return true
}

const findRow = (db: Db, name: string) =>
  db.selectFrom('servers').select(serverColumns).where('name', '=', name).executeTakeFirst()

async function recordRemoval({ db, keys, recordEffect }: WriteContext, row: ServerRow): Promise<void> {
  recordEffect({ before: { ...storedAuditMembers(keys, row), items: await readFingerprints(db, row.id) } })
}

async function recreateServer(context: WriteContext, config: ServerConfig, offer: UpstreamOffer): Promise<string> {
  const { db } = context
  const { name } = config
  const before = await findRow(db, name)
  if (!before) return insertServer(context, config, offer)
  await recordRemoval(context, before)
  const id = randomUUID()
  // no name of a server has a blank
  await db
    .updateTable('servers')
    .set({ name: `${name} ${before.id}` })
    .where('id', '=', before.id)
    .execute()
  await insertRow(db, { id, name, ...columns(context, id, config, offer) })
  await sql`
    update servers set accepted_origin = old.accepted_origin from servers as old
    where servers.id = ${id}::uuid and old.id = ${before.id}::uuid`.execute(db)
  await sql`
    update items set server_id = ${id}::uuid, position = null, enabled = true
    where server_id = ${before.id}::uuid`.execute(db)
  await db.deleteFrom('servers').where('id', '=', before.id).execute()
  return storeFirstItems(context, id, config, offer)
}

async function replaceServer(
  context: WriteContext,
  name: string,
  config: ServerConfig,
  offer: UpstreamOffer,
  expected?: ConnectionConfig
): Promise<string> {
  const { db, keys, version, recordEffect } = context
  const row = await db.selectFrom('servers').select(serverColumns).where('name', '=', name).executeTakeFirst()
  if (!row) throw notFound('server', name)
  if (expected && !isSameConfig(row, expected))
    throw new AppError(409, `server "${name}" has been changed meanwhile: try again`)
  const { id, enabled } = row
  // whoever asked for a recording meant the server at the old place
  const recording = isSamePlace(toConfig(row, decryptIfPossible(keys, row)), config) ? {} : { recorded_until: null }
  await db
    .updateTable('servers')
    .set({ ...columns(context, id, config, offer), ...recording, ...revisionColumns(version) })
    .where('id', '=', id)
    .execute()
  const stored = await storeItems(context, id, offer, config.pins)
  const [instructionsBefore, instructionsAfter] = changedInstructions(
    row.negotiation,
    offer.negotiation,
    redactorFor(keys, row, config)
  )
  recordEffect({
    before: { ...storedAuditMembers(keys, row), items: stored.before, ...instructionsBefore },
    after: { ...auditMembers(config, offer.negotiation, enabled), items: stored.after, ...instructionsAfter }
  })
  await recordHolds(context, { id, name }, originOfServer(config, offer.negotiation), stored)
  return id
}

async function encryptPlainSecrets({
  db,
  keys,
  encryptionKeys,
  version,
  recordEffect
}: WriteContext): Promise<string[]> {
  const rows = await db.selectFrom('servers').select(serverColumns).forUpdate().execute()
  const changedNames: string[] = []
  for (const row of rows) {
    if (!hasUnmaskedSecrets(JSON.parse(row.settings) as ServerSettings) || !canDecrypt(keys, row)) continue
    const config = toConfig(row, decryptSecrets(keys, row))
    await db
      .updateTable('servers')
      .set({
        settings: JSON.stringify(maskSettings(config)),
        sealed: encryptSecrets(encryptionKeys, row.id, config),
        ...revisionColumns(version)
      })
      .where('id', '=', row.id)
      .execute()
    changedNames.push(row.name)
  }
  if (changedNames.length > 0) recordEffect({ after: { servers: changedNames } })
  return changedNames
}

async function setServerEnabled({ db, version, recordEffect }: WriteContext, name: string, enabled: boolean) {
  const { id, enabled: before, hasLists } = await findServer(db, name)
  const changed = before !== enabled
  if (enabled && !hasLists) throw new AppError(409, `the lists of server "${name}" have not been read yet: try again`)
  if (changed) {
    await db
      .updateTable('servers')
      .set({ enabled, ...revisionColumns(version) })
      .where('id', '=', id)
      .execute()
    recordEffect({ before: { enabled: before }, after: { enabled } })
  }
  const [tools, prompts] = [await enabledNames(db, id, 'tool'), await enabledNames(db, id, 'prompt')]
  return { changed, tools, prompts }
}

/** Returns true, and records the number of the read, unless the server's stored lists come from a later read. */
async function isLatestRead(db: Db, id: string, { read }: UpstreamOffer): Promise<boolean> {
  if (read === undefined) return true
  const { numUpdatedRows } = await db
    .updateTable('servers')
    .set({ list_read: read })
    .where('id', '=', id)
    .where(({ eb, or }) => or([eb('list_read', 'is', null), eb('list_read', '<=', read)]))
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

const refreshColumns = [...serverColumns, 'left_out'] as const

async function storeRefresh(
  context: WriteContext,
  id: string,
  offer: UpstreamOffer,
  expected?: ConnectionConfig
): Promise<ListDifference> {
  const { db, keys, version, recordEffect } = context
  const row = await db.selectFrom('servers').select(refreshColumns).where('id', '=', id).executeTakeFirst()
  if (!row || (expected && !isSameConfig(row, expected))) return noDifference
  if (!(await isLatestRead(db, id, offer))) return noDifference
  const stored = await storeItems(context, id, offer)
  const { before, after, added, removed, changed } = stored
  const sameNegotiation = isSameNegotiation(row.negotiation, offer.negotiation)
  const left_out = leftOutText(offer)
  if (stored.unchanged && sameNegotiation && left_out === row.left_out) return noDifference
  const negotiation = sameNegotiation ? {} : { negotiation: JSON.stringify(offer.negotiation) }
  await db
    .updateTable('servers')
    .set({ ...negotiation, left_out, save_failure: null, ...revisionColumns(version) })
    .where('id', '=', id)
    .execute()
  const [instructionsBefore, instructionsAfter] = changedInstructions(
    row.negotiation,
    offer.negotiation,
    redactorFor(keys, row)
  )
  recordEffect({
    before: {
      upstream: toAuditedNegotiation(row.negotiation),
      items: before,
      left_out: leftOutSize(row.left_out),
      ...instructionsBefore
    },
    after: {
      upstream: toAuditedNegotiation(offer.negotiation),
      items: after,
      left_out: leftOutSize(left_out),
      ...instructionsAfter
    }
  })
  const origin = originOfServer(JSON.parse(row.settings) as ServerSettings, offer.negotiation)
  await recordHolds(context, row, origin, stored)
  return { added, removed, changed, unchanged: false }
}

/**
 * Returns all registration inputs with their secrets, ordered by name (http-contract.md#registration-input). Throws an
 * AppError if a server's secrets cannot be decrypted.
 */
export async function readConfigs(db: Db, keys: MasterKeys): Promise<ServerConfig[]> {
  const rows = await db
    .selectFrom('servers')
    .select(serverColumns)
    .orderBy(sql`name collate "C"`)
    .execute()
  return rows.map((row) => toConfig(row, decryptSecrets(keys, row)))
}

/** Returns true if version 0.1 left secrets in plain text. */
export async function hasPlainSecrets(db: Db): Promise<boolean> {
  const rows = await db.selectFrom('servers').select('settings').execute()
  return rows.some(({ settings }) => hasUnmaskedSecrets(JSON.parse(settings) as ServerSettings))
}

/**
 * Returns true, and records the time, if no background refresh of the upstream's lists was started in the last
 * `withinMs` milliseconds. Uses the database's clock, so that only one of several replicas refreshes.
 */
export async function tryStartRefresh(db: Db, id: string, withinMs: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('servers')
    .set({ refresh_begun_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', id)
    .where(
      sql<boolean>`(refresh_begun_at is null or refresh_begun_at <= clock_timestamp() - ${withinMs}::float8 * interval '1 millisecond')`
    )
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Returns the number of a read of lists that begins now; all later numbers are higher, those of other replicas too. */
export async function nextListRead(db: Db): Promise<string> {
  const { rows } = await sql<{ read: string }>`select nextval('list_reads')::text as read`.execute(db)
  return rows[0]!.read
}
