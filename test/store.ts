import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { openRegistry, type Registry, type RegistryOptions } from '../src/registry/registry.ts'
import { storesFolder } from './temporary.ts'
import { administer, limits, makeTemplateDatabase, makeTemplateDir, newName, quiet, urlOf } from './templates.ts'

const execute = promisify(execFile)

export type Engine = 'pglite' | 'postgres'

const adminUrl = process.env.TEST_DATABASE_URL

/** Engines for storage tests. Without `TEST_DATABASE_URL` (set by test/run.ts) only the embedded store. */
export const engines: readonly Engine[] = adminUrl ? ['pglite', 'postgres'] : ['pglite']

/** Engine for tests unrelated to storage: an embedded store costs a second of CPU each time it is opened. */
export const anyEngine: Engine = adminUrl ? 'postgres' : 'pglite'
if (!adminUrl) console.error('*** TEST_DATABASE_URL is not set: no storage test runs on PostgreSQL ***')

/** Storage location of a registry: the two settings that differ between the engines. */
export interface StoreLocation {
  readonly databaseUrl?: string
  readonly dataDir: string
}

const stacks = new WeakMap<TestContext, (() => unknown)[]>()

/** Runs clean-up work after the test, in reverse order; `t.after` itself runs in the order of the calls. */
export function addCleanup(t: TestContext, clean: () => unknown): void {
  const stack = stacks.get(t) ?? []
  if (!stacks.has(t)) {
    stacks.set(t, stack)
    t.after(async () => {
      while (stack.length > 0) await stack.pop()!()
    })
  }
  stack.push(clean)
}

/** Creates an empty folder that is removed after the test. */
export async function tempDir(t: TestContext, below = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(below, 'towpath-test-'))
  addCleanup(t, () => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Returns a data directory with a migrated, unused embedded store. */
export async function freshDataDir(t: TestContext): Promise<string> {
  const folder = await tempDir(t, storesFolder())
  // a thousand files: Node's own copy takes as much of the CPU as opening the store does
  await execute('cp', ['-R', join(await templateDir(), 'postgres'), join(folder, 'postgres')])
  return folder
}

/** Returns the URL of a migrated, unused database. */
export async function freshDatabase(t: TestContext): Promise<string> {
  const template = await templateDatabase()
  // copying files costs half as much as copying through the write-ahead log
  return createDatabase(t, `template ${template} strategy file_copy`)
}

/** Returns the URL of an empty database without migrations. */
export const emptyDatabase = (t: TestContext): Promise<string> => createDatabase(t, '')

async function createDatabase(t: TestContext, how: string): Promise<string> {
  const name = newName('test')
  await administer(adminUrl!, `create database ${name} ${how}`)
  addCleanup(t, () => administer(adminUrl!, `drop database ${name} with (force)`))
  return urlOf(adminUrl!, name)
}

/** Returns a fresh store of either engine. */
export async function freshPlace(t: TestContext, engine: Engine): Promise<StoreLocation> {
  if (engine === 'pglite') return { dataDir: await freshDataDir(t) }
  return { databaseUrl: await freshDatabase(t), dataDir: await tempDir(t) }
}

/** Opens a registry that is closed after the test. */
export async function startRegistry(
  t: TestContext,
  place: StoreLocation,
  options: Partial<RegistryOptions> = {}
): Promise<Registry> {
  const registry = await openRegistry({ ...limits, ...place, mode: 'development', ...quiet, ...options })
  addCleanup(t, () => registry.close())
  return registry
}

const own: { dir?: Promise<string>; database?: Promise<string> } = {}

/** Creates a template for a file that runs without test/run.ts. */
async function templateDir(): Promise<string> {
  if (process.env.TEST_TEMPLATE_DIR) return process.env.TEST_TEMPLATE_DIR
  if (!own.dir) {
    own.dir = makeTemplateDir()
    const dir = await own.dir
    process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  }
  return own.dir
}

async function templateDatabase(): Promise<string> {
  if (process.env.TEST_TEMPLATE_DATABASE) return process.env.TEST_TEMPLATE_DATABASE
  own.database ??= makeTemplateDatabase(adminUrl!)
  return own.database
}
