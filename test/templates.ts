import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { migrateToLatest } from '../src/registry/store/migrate.ts'
import { openStore, type StoreOptions } from '../src/registry/store/store.ts'
import { storesFolder } from './temporary.ts'

/** Generous limits, since the tests share the machine. */
export const limits = { connectTimeoutMs: 60_000, queryTimeoutMs: 60_000 }

/** Handlers for tests that lose the database on purpose. */
export const quiet = { onIdleError: () => {}, onError: () => {} }

export interface Templates {
  /** Environment that tells the test processes where the templates are. */
  readonly env: NodeJS.ProcessEnv
  remove(): Promise<void>
}

/** Migrates once per run and lets each test copy the result: a first start of the embedded store takes seconds. */
export async function makeTemplates(url: string | undefined): Promise<Templates> {
  const mask = process.umask()
  const dir = await makeTemplateDir()
  // the embedded store changed the umask of this process, which test processes would inherit
  process.umask(mask)
  const database = url && (await makeTemplateDatabase(url))
  return {
    env: { TEST_TEMPLATE_DIR: dir, ...(database && { TEST_TEMPLATE_DATABASE: database }) },
    async remove() {
      await rm(dir, { recursive: true, force: true })
      if (url) await administer(url, `drop database ${database} with (force)`)
    }
  }
}

/** Creates a data directory with a migrated embedded store. */
export async function makeTemplateDir(): Promise<string> {
  const dataDir = await mkdtemp(join(storesFolder(), 'towpath-template-'))
  await migrate({ ...limits, ...quiet, dataDir })
  return dataDir
}

/** Creates a migrated database and returns its name. */
export async function makeTemplateDatabase(url: string): Promise<string> {
  const name = newName('template')
  await administer(url, `create database ${name}`)
  await migrate({ ...limits, ...quiet, databaseUrl: urlOf(url, name), dataDir: tmpdir() })
  return name
}

async function migrate(options: StoreOptions): Promise<void> {
  const store = await openStore(options)
  try {
    await migrateToLatest(store)
  } finally {
    await store.close()
  }
}

/** Runs one statement on a connection of its own. */
export async function administer(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return rows
  } finally {
    await client.end()
  }
}

export const newName = (kind: string) => `towpath_${kind}_${randomUUID().replaceAll('-', '')}`

export function urlOf(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}
