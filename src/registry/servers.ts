import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { conflict, notFound } from '../errors.ts'
import { findServer, type WriteContext } from './context.ts'
import { isUniqueViolation } from './failures.ts'
import { enabledNames, storeItems, type Difference } from './items.ts'
import type { Offer, ServerConfig, ServerSettings, StoredServer, Verdict } from './model.ts'
import { openSecrets, sealSecrets, settingsOf } from './secrets.ts'
import type { Db } from './tables.ts'

const nothing: Difference = { added: [], removed: [], changed: [], unchanged: true }

/** What a write may do to servers. Names are exact; 404 AppError where one does not exist. */
export function createServers(context: WriteContext) {
  const { db, master, version, touch } = context

  const columns = (id: string, config: ServerConfig, offer: Offer) => ({
    transport: config.transport,
    description: config.description ?? null,
    session_mode: config.session_mode,
    settings: JSON.stringify(settingsOf(config)),
    sealed: sealSecrets(master, id, config),
    verdict: JSON.stringify(offer.verdict),
    revision: version
  })

  const discard = async (name: string): Promise<boolean> => {
    const { numDeletedRows } = await db.deleteFrom('servers').where('name', '=', name).executeTakeFirstOrThrow()
    if (numDeletedRows > 0n) touch()
    return numDeletedRows > 0n
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
      await storeItems(db, id, offer.items)
      touch()
      return id
    },

    async remove(name: string): Promise<void> {
      if (!(await discard(name))) throw notFound('server', name)
    },

    /** Removes the server if there is one (`force`); whether there was. */
    discard,

    /** New configuration for a server: the row, its switch and those of items that stay remain. */
    async replace(name: string, config: ServerConfig, offer: Offer): Promise<void> {
      const { id } = await findServer(db, name)
      await db
        .updateTable('servers')
        .set(columns(id, config, offer))
        .where('id', '=', id)
        .execute()
      await storeItems(db, id, offer.items)
      touch()
    },

    /** Own names of the enabled tools and prompts: what appears or disappears when `changed` is true. */
    async setEnabled(name: string, enabled: boolean) {
      const { id, enabled: before } = await findServer(db, name)
      const changed = before !== enabled
      if (changed) {
        await db.updateTable('servers').set({ enabled, revision: version }).where('id', '=', id).execute()
        touch()
      }
      const [tools, prompts] = [await enabledNames(db, id, 'tool'), await enabledNames(db, id, 'prompt')]
      return { changed, tools, prompts }
    },

    /**
     * Stores a re-read of an upstream: the lists with the switches kept, and the verdict. Nothing is written when
     * nothing differs (`checkedAt` aside), when the server is gone, or when it is no longer configured as `seen`.
     */
    async refresh(id: string, offer: Offer, seen?: Configured): Promise<Difference> {
      const row = await db.selectFrom('servers').select(configured).where('id', '=', id).executeTakeFirst()
      if (!row || (seen && !isSame(row, seen))) return nothing
      const difference = await storeItems(db, id, offer.items)
      const sameVerdict = isSameVerdict(row.verdict, offer.verdict)
      if (difference.unchanged && sameVerdict) return nothing
      const verdict = sameVerdict ? {} : { verdict: JSON.stringify(offer.verdict) }
      await db
        .updateTable('servers')
        .set({ ...verdict, revision: version })
        .where('id', '=', id)
        .execute()
      touch()
      return { ...difference, unchanged: false }
    },

    /** Whether it differed from the stored one (`checkedAt` aside) and was written. */
    async setVerdict(id: string, verdict: Verdict): Promise<boolean> {
      const row = await db.selectFrom('servers').select('verdict').where('id', '=', id).executeTakeFirst()
      if (!row || isSameVerdict(row.verdict, verdict)) return false
      const values = { verdict: JSON.stringify(verdict), revision: version }
      await db.updateTable('servers').set(values).where('id', '=', id).execute()
      touch()
      return true
    }
  }
}

/** Every registration input, complete, by name (contract 4.2). AppError when a sealed part does not open. */
export async function readConfigs(db: Db, master: Buffer): Promise<ServerConfig[]> {
  const rows = await db
    .selectFrom('servers')
    .select(['id', 'name', 'transport', 'description', 'session_mode', 'settings', 'sealed'])
    .orderBy(sql`name collate "C"`)
    .execute()
  return rows.map((row) => ({
    name: row.name,
    transport: row.transport,
    ...(row.description !== null && { description: row.description }),
    session_mode: row.session_mode,
    ...(JSON.parse(row.settings) as ServerSettings),
    ...openSecrets(master, row)
  }))
}

/** The part of a stored server that says how its upstream is reached. */
export type Configured = Pick<StoredServer, 'transport' | 'session_mode' | 'settings' | 'sealed'>

const configured = ['transport', 'session_mode', 'settings', 'sealed', 'verdict'] as const

/** Secrets are sealed with a new nonce at each replacement, so equal bytes are equal secrets. */
function isSame(row: Omit<Configured, 'settings'> & { settings: string }, seen: Configured): boolean {
  return (
    row.transport === seen.transport &&
    row.session_mode === seen.session_mode &&
    isDeepStrictEqual(JSON.parse(row.settings), seen.settings) &&
    Buffer.compare(row.sealed ?? Buffer.alloc(0), seen.sealed ?? Buffer.alloc(0)) === 0
  )
}

function isSameVerdict(stored: string | null, verdict: Verdict): boolean {
  if (stored === null) return false
  const plain = JSON.parse(JSON.stringify(verdict)) as Verdict
  return isDeepStrictEqual({ ...(JSON.parse(stored) as Verdict), checkedAt: '' }, { ...plain, checkedAt: '' })
}
