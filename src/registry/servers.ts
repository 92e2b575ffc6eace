import { createHash, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { sql, type Selectable } from 'kysely'
import { differingParts } from '../domain/difference.ts'
import { createRedactor, secretsIn } from '../domain/redaction.ts'
import { escapeText } from '../domain/text.ts'
import { AppError, conflict, notFound } from '../errors.ts'
import { findServer, touched, type WriteContext } from './context.ts'
import { isUniqueViolation } from './failures.ts'
import { enabledNames, readFingerprints, storeItems, type Difference } from './items.ts'
import type { LeftOut, Offer, ServerConfig, ServerSecrets, ServerSettings, StoredServer, Verdict } from './model.ts'
import { envelopePayload, type MasterKeys } from './sealed.ts'
import { hasUnmaskedSecrets, decryptSecrets, encryptSecrets, maskSettings } from './secrets.ts'
import type { Db, Tables } from './tables.ts'

const nothing: Difference = { added: [], removed: [], changed: [], unchanged: true }

/** Creates the repository of servers for a write. Names are exact; methods throw a 404 AppError for an unknown name. */
export function createServers(context: WriteContext) {
  const { db, keys, sealing, version, touch } = context

  const columns = (id: string, config: ServerConfig, offer: Offer) => ({
    transport: config.transport,
    description: config.description ?? null,
    session_mode: config.session_mode,
    settings: JSON.stringify(maskSettings(config)),
    sealed: encryptSecrets(sealing, id, config),
    verdict: JSON.stringify(offer.verdict),
    left_out: leftOutText(offer),
    revision: version
  })

  const discard = async (name: string): Promise<boolean> => {
    const before = await db.selectFrom('servers').select(described).where('name', '=', name).executeTakeFirst()
    if (!before) return false
    const items = await readFingerprints(db, before.id)
    await db.deleteFrom('servers').where('id', '=', before.id).execute()
    touch({ before: { ...storedMembers(keys, before), items } })
    return true
  }

  return {
    /**
     * Inserts a server and returns its id. Throws a 409 AppError if the name is taken; the transaction is then aborted,
     * so the error must propagate.
     */
    async create(config: ServerConfig, offer: Offer): Promise<string> {
      const id = randomUUID()
      try {
        await db
          .insertInto('servers')
          .values({ id, name: config.name, ...columns(id, config, offer) })
          .execute()
      } catch (error) {
        throw isUniqueViolation(error, 'servers_name_key') ? conflict('server', config.name) : error
      }
      const { after: items } = await storeItems(db, id, offer.items)
      touch({ after: { ...members(config, offer.verdict, true), items } })
      return id
    },

    async remove(name: string): Promise<void> {
      if (!(await discard(name))) throw notFound('server', name)
    },

    /** Removes the server if it exists (`force`), and returns true if it did. */
    discard,

    /**
     * Replaces a server's configuration and returns its id. The server's enabled flag and those of the remaining items
     * are kept. Throws a 409 AppError if its configuration is no longer `seen`.
     */
    async replace(name: string, config: ServerConfig, offer: Offer, seen?: Configured): Promise<string> {
      const row = await db.selectFrom('servers').select(described).where('name', '=', name).executeTakeFirst()
      if (!row) throw notFound('server', name)
      if (seen && !isSame(row, seen)) throw new AppError(409, `server "${name}" has been changed meanwhile: try again`)
      const { id, enabled } = row
      await db
        .updateTable('servers')
        .set({ ...columns(id, config, offer), ...touched(version) })
        .where('id', '=', id)
        .execute()
      const { before, after } = await storeItems(db, id, offer.items)
      const [said, says] = changedInstructions(row.verdict, offer.verdict, redactorFor(keys, row, config))
      touch({
        before: { ...storedMembers(keys, row), items: before, ...said },
        after: { ...members(config, offer.verdict, enabled), items: after, ...says }
      })
      return id
    },

    /**
     * Encrypts secrets in URLs and arguments that version 0.1 stored in plain text, and returns the names of the
     * changed servers. Skips servers whose secrets cannot be decrypted.
     */
    async sealSettings(): Promise<string[]> {
      const rows = await db.selectFrom('servers').select(described).forUpdate().execute()
      const moved: string[] = []
      for (const row of rows) {
        if (!hasUnmaskedSecrets(JSON.parse(row.settings) as ServerSettings) || !opens(keys, row)) continue
        const config = toConfig(row, decryptSecrets(keys, row))
        await db
          .updateTable('servers')
          .set({
            settings: JSON.stringify(maskSettings(config)),
            sealed: encryptSecrets(sealing, row.id, config),
            ...touched(version)
          })
          .where('id', '=', row.id)
          .execute()
        moved.push(row.name)
      }
      if (moved.length > 0) touch({ after: { servers: moved } })
      return moved
    },

    /**
     * Enables or disables a server, and returns the upstream's names of its enabled tools and prompts: those that
     * appear or disappear if `changed` is true.
     */
    async setEnabled(name: string, enabled: boolean) {
      const { id, enabled: before } = await findServer(db, name)
      const changed = before !== enabled
      if (changed) {
        await db
          .updateTable('servers')
          .set({ enabled, ...touched(version) })
          .where('id', '=', id)
          .execute()
        touch({ before: { enabled: before }, after: { enabled } })
      }
      const [tools, prompts] = [await enabledNames(db, id, 'tool'), await enabledNames(db, id, 'prompt')]
      return { changed, tools, prompts }
    },

    /**
     * Stores refreshed lists, keeping the items' enabled flags, and the negotiated protocol. Writes nothing if only
     * `checkedAt` or `listTtlMs` differ, if the server is gone, or if its configuration is no longer `seen`.
     */
    async refresh(id: string, offer: Offer, seen?: Configured): Promise<Difference> {
      const row = await db.selectFrom('servers').select(configured).where('id', '=', id).executeTakeFirst()
      if (!row || (seen && !isSame(row, seen))) return nothing
      const { before, after, ...difference } = await storeItems(db, id, offer.items)
      const sameVerdict = isSameVerdict(row.verdict, offer.verdict)
      const left_out = leftOutText(offer)
      if (difference.unchanged && sameVerdict && left_out === row.left_out) return nothing
      const verdict = sameVerdict ? {} : { verdict: JSON.stringify(offer.verdict) }
      await db
        .updateTable('servers')
        .set({ ...verdict, left_out, ...touched(version) })
        .where('id', '=', id)
        .execute()
      const [said, says] = changedInstructions(row.verdict, offer.verdict, redactorFor(keys, row))
      touch({
        before: { upstream: toUpstream(row.verdict), items: before, left_out: leftOutSize(row.left_out), ...said },
        after: { upstream: toUpstream(offer.verdict), items: after, left_out: leftOutSize(left_out), ...says }
      })
      return { ...difference, unchanged: false }
    }
  }
}

/**
 * Returns all registration inputs with their secrets, ordered by name (http-contract.md#registration-input). Throws an
 * AppError if a server's secrets cannot be decrypted.
 */
export async function readConfigs(db: Db, keys: MasterKeys): Promise<ServerConfig[]> {
  const rows = await db
    .selectFrom('servers')
    .select(described)
    .orderBy(sql`name collate "C"`)
    .execute()
  return rows.map((row) => toConfig(row, decryptSecrets(keys, row)))
}

/** Columns of a server's configuration and state, without its items */
export const described = [
  'id',
  'name',
  'transport',
  'description',
  'session_mode',
  'settings',
  'sealed',
  'enabled',
  'verdict'
] as const
type Described = Pick<Selectable<Tables['servers']>, (typeof described)[number]>

const toConfig = (row: Omit<Described, 'enabled' | 'verdict'>, secrets: ServerSecrets): ServerConfig => ({
  name: row.name,
  transport: row.transport,
  ...(row.description !== null && { description: row.description }),
  session_mode: row.session_mode,
  ...(JSON.parse(row.settings) as ServerSettings),
  ...secrets
})

/** Returns a server's members for the audit log. */
const members = ({ name: _name, ...config }: ServerConfig, verdict: Verdict | string | null, enabled: boolean) => ({
  ...config,
  enabled,
  upstream: toUpstream(verdict)
})

const storedMembers = (keys: MasterKeys, row: Described) =>
  members(toConfig(row, openIfPossible(keys, row)), row.verdict, row.enabled)

/** Returns true if version 0.1 left secrets in plain text. */
export async function hasReadableSecrets(db: Db): Promise<boolean> {
  const rows = await db.selectFrom('servers').select('settings').execute()
  return rows.some(({ settings }) => hasUnmaskedSecrets(JSON.parse(settings) as ServerSettings))
}

function opens(keys: MasterKeys, row: Described): boolean {
  try {
    decryptSecrets(keys, row)
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

/** Returns no secrets if they cannot be decrypted, so that such a server can still be replaced and removed. */
function openIfPossible(keys: MasterKeys, row: Described): ServerSecrets {
  try {
    return decryptSecrets(keys, row)
  } catch (error) {
    if (error instanceof AppError) return {}
    throw error
  }
}

/** Replaces the upstream's description of itself by a hash, since its text may contain anything. */
function toUpstream(verdict: Verdict | string | null) {
  if (verdict === null) return null
  const { modern, legacy, hasSessions, capabilities, serverInfo, instructions } =
    typeof verdict === 'string' ? (JSON.parse(verdict) as Verdict) : verdict
  const said = JSON.stringify([capabilities, serverInfo, instructions])
  return { modern, legacy, sessions: hasSessions, description: createHash('sha256').update(said).digest('hex') }
}

/** Maximum length of changed instructions in the audit log, in UTF-16 units */
const MAX_INSTRUCTIONS = 200

/** Returns a function that removes the secrets of a stored server, and of its next configuration, from a text. */
function redactorFor(keys: MasterKeys, row: Described, next?: ServerConfig): (text: string) => string {
  const { settings } = row
  const known = secretsIn(openIfPossible(keys, row), JSON.parse(settings) as ServerSettings)
  return createRedactor(next ? [...known, ...secretsIn(next, next)] : known)
}

/**
 * Returns the differing parts of the old and new instructions for the audit log, truncated; empty objects if they are
 * equal.
 */
function changedInstructions(before: string | null, { instructions }: Verdict, redact: (text: string) => string) {
  const said = before === null ? null : (JSON.parse(before) as Verdict).instructions
  if (said === instructions) return [{}, {}]
  const parts = differingParts(redact(said ?? ''), redact(instructions ?? ''))
  return parts.map((text) => (text === '' ? {} : { instructions: escapeText(text, MAX_INSTRUCTIONS) }))
}

/** Stored settings that determine how an upstream is contacted */
export type Configured = Pick<StoredServer, 'transport' | 'session_mode' | 'settings' | 'sealed'>

const configured = [...described, 'left_out'] as const

const nothingSealed = Buffer.alloc(0)

/** Compares configurations. Equal payloads mean equal secrets, whichever master key wraps the data key. */
function isSame(row: Omit<Configured, 'settings'> & { settings: string }, seen: Configured): boolean {
  return (
    row.transport === seen.transport &&
    row.session_mode === seen.session_mode &&
    isDeepStrictEqual(JSON.parse(row.settings), seen.settings) &&
    Buffer.compare(envelopePayload(row.sealed ?? nothingSealed), envelopePayload(seen.sealed ?? nothingSealed)) === 0
  )
}

const leftOutText = ({ leftOut }: Offer): string | null => (leftOut ? JSON.stringify(leftOut) : null)

/** Returns the number of items left out, for the audit log. */
function leftOutSize(text: string | null): number {
  if (text === null) return 0
  const { items, more } = JSON.parse(text) as LeftOut
  return items.length + more
}

/** Removes the members that may differ at every negotiation. */
const settled = ({ checkedAt: _at, listTtlMs: _ttl, ...verdict }: Verdict) => verdict

function isSameVerdict(stored: string | null, verdict: Verdict): boolean {
  if (stored === null) return false
  const plain = JSON.parse(JSON.stringify(verdict)) as Verdict
  return isDeepStrictEqual(settled(JSON.parse(stored) as Verdict), settled(plain))
}

/**
 * Returns true, and records the time, if no background refresh of the upstream's lists was started in the last
 * `withinMs` milliseconds. Uses the database's clock, so that only one of several replicas refreshes.
 */
export async function claimRefresh(db: Db, id: string, withinMs: number): Promise<boolean> {
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
