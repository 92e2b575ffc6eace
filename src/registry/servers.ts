import { createHash, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { sql, type Selectable } from 'kysely'
import { differingParts } from '../domain/difference.ts'
import { createRedactor, secretsIn } from '../domain/redaction.ts'
import { escaped } from '../domain/text.ts'
import { AppError, conflict, notFound } from '../errors.ts'
import { findServer, touched, type WriteContext } from './context.ts'
import { isUniqueViolation } from './failures.ts'
import { enabledNames, readFingerprints, storeItems, type Difference } from './items.ts'
import type { LeftOut, Offer, ServerConfig, ServerSecrets, ServerSettings, StoredServer, Verdict } from './model.ts'
import { payloadOf, type Keyring } from './sealed.ts'
import { holdsSecrets, openSecrets, sealSecrets, settingsOf } from './secrets.ts'
import type { Db, Tables } from './tables.ts'

const nothing: Difference = { added: [], removed: [], changed: [], unchanged: true }

/** What a write may do to servers. Names are exact; 404 AppError where one does not exist. */
export function createServers(context: WriteContext) {
  const { db, keys, sealing, version, touch } = context

  const columns = (id: string, config: ServerConfig, offer: Offer) => ({
    transport: config.transport,
    description: config.description ?? null,
    session_mode: config.session_mode,
    settings: JSON.stringify(settingsOf(config)),
    sealed: sealSecrets(sealing, id, config),
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
    /** The new row's id. 409 AppError when the name is taken: the transaction is lost then, let the error pass. */
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

    /** Removes the server if there is one (`force`); whether there was. */
    discard,

    /**
     * New configuration for a server: the row, its switch and those of items that stay remain. The row's id. 409 where it
     * is no longer configured as `seen`.
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
     * Seals what version 0.1 stored readable in URLs and arguments. Names of the servers that were changed; a server whose
     * secrets do not open stays as it is.
     */
    async sealSettings(): Promise<string[]> {
      const rows = await db.selectFrom('servers').select(described).forUpdate().execute()
      const moved: string[] = []
      for (const row of rows) {
        if (!holdsSecrets(JSON.parse(row.settings) as ServerSettings) || !opens(keys, row)) continue
        const config = toConfig(row, openSecrets(keys, row))
        await db
          .updateTable('servers')
          .set({
            settings: JSON.stringify(settingsOf(config)),
            sealed: sealSecrets(sealing, row.id, config),
            ...touched(version)
          })
          .where('id', '=', row.id)
          .execute()
        moved.push(row.name)
      }
      if (moved.length > 0) touch({ after: { servers: moved } })
      return moved
    },

    /** Own names of the enabled tools and prompts: what appears or disappears when `changed` is true. */
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
     * Stores a re-read of an upstream: the lists with the switches kept, and the verdict. Nothing is written when
     * nothing differs (`checkedAt` and `listTtlMs` aside), when the server is gone, or when it is no longer configured as `seen`.
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
 * Every registration input, complete, by name (http-contract.md#registration-input). AppError when a sealed part does
 * not open.
 */
export async function readConfigs(db: Db, keys: Keyring): Promise<ServerConfig[]> {
  const rows = await db
    .selectFrom('servers')
    .select(described)
    .orderBy(sql`name collate "C"`)
    .execute()
  return rows.map((row) => toConfig(row, openSecrets(keys, row)))
}

/** What a stored server is, its items aside. */
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

/** What the audit log may tell of a server. */
const members = ({ name: _name, ...config }: ServerConfig, verdict: Verdict | string | null, enabled: boolean) => ({
  ...config,
  enabled,
  upstream: toUpstream(verdict)
})

const storedMembers = (keys: Keyring, row: Described) =>
  members(toConfig(row, openIfPossible(keys, row)), row.verdict, row.enabled)

/** Whether a server is left that version 0.1 stored. */
export async function hasReadableSecrets(db: Db): Promise<boolean> {
  const rows = await db.selectFrom('servers').select('settings').execute()
  return rows.some(({ settings }) => holdsSecrets(JSON.parse(settings) as ServerSettings))
}

function opens(keys: Keyring, row: Described): boolean {
  try {
    openSecrets(keys, row)
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

/** What does not open can still be replaced and removed. */
function openIfPossible(keys: Keyring, row: Described): ServerSecrets {
  try {
    return openSecrets(keys, row)
  } catch (error) {
    if (error instanceof AppError) return {}
    throw error
  }
}

/** What an upstream says of itself is its text, which may be anything: of that a fingerprint. */
function toUpstream(verdict: Verdict | string | null) {
  if (verdict === null) return null
  const { modern, legacy, hasSessions, capabilities, serverInfo, instructions } =
    typeof verdict === 'string' ? (JSON.parse(verdict) as Verdict) : verdict
  const said = JSON.stringify([capabilities, serverInfo, instructions])
  return { modern, legacy, sessions: hasSessions, description: createHash('sha256').update(said).digest('hex') }
}

/** UTF-16 units of changed instructions that the audit log takes. */
const MAX_INSTRUCTIONS = 200

/** Takes the secrets of a stored server, and those of its next configuration, out of text. */
function redactorFor(keys: Keyring, row: Described, next?: ServerConfig): (text: string) => string {
  const { settings } = row
  const known = secretsIn(openIfPossible(keys, row), JSON.parse(settings) as ServerSettings)
  return createRedactor(next ? [...known, ...secretsIn(next, next)] : known)
}

/** What differs in the instructions before and after, cut, for the audit log; nothing where they are the same. */
function changedInstructions(before: string | null, { instructions }: Verdict, redact: (text: string) => string) {
  const said = before === null ? null : (JSON.parse(before) as Verdict).instructions
  if (said === instructions) return [{}, {}]
  const parts = differingParts(redact(said ?? ''), redact(instructions ?? ''))
  return parts.map((text) => (text === '' ? {} : { instructions: escaped(text, MAX_INSTRUCTIONS) }))
}

/** The part of a stored server that says how its upstream is reached. */
export type Configured = Pick<StoredServer, 'transport' | 'session_mode' | 'settings' | 'sealed'>

const configured = [...described, 'left_out'] as const

const nothingSealed = Buffer.alloc(0)

/** Equal payloads are equal secrets, whichever key they are sealed with. */
function isSame(row: Omit<Configured, 'settings'> & { settings: string }, seen: Configured): boolean {
  return (
    row.transport === seen.transport &&
    row.session_mode === seen.session_mode &&
    isDeepStrictEqual(JSON.parse(row.settings), seen.settings) &&
    Buffer.compare(payloadOf(row.sealed ?? nothingSealed), payloadOf(seen.sealed ?? nothingSealed)) === 0
  )
}

const leftOutText = ({ leftOut }: Offer): string | null => (leftOut ? JSON.stringify(leftOut) : null)

/** How many items are left out, for the audit log. */
function leftOutSize(text: string | null): number {
  if (text === null) return 0
  const { items, more } = JSON.parse(text) as LeftOut
  return items.length + more
}

/** Without what may be another at each check. */
const settled = ({ checkedAt: _at, listTtlMs: _ttl, ...verdict }: Verdict) => verdict

function isSameVerdict(stored: string | null, verdict: Verdict): boolean {
  if (stored === null) return false
  const plain = JSON.parse(JSON.stringify(verdict)) as Verdict
  return isDeepStrictEqual(settled(JSON.parse(stored) as Verdict), settled(plain))
}

/**
 * True where nobody has begun to read the upstream's lists within so many milliseconds: then it is up to who asked. By the
 * database's clock, so that of several replicas one reads.
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
