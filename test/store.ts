import { rmSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openRegistry, type Registry, type RegistryOptions } from '../src/registry/registry.ts'
import { storesFolder } from './temporary.ts'
import { administer, limits, makeTemplateDatabase, makeTemplateDir, newName, quiet, urlOf } from './templates.ts'

export type Engine = 'pglite' | 'postgres'

const adminUrl = process.env.TEST_DATABASE_URL

/** What storage tests run on. Without `TEST_DATABASE_URL` (test/run.ts sets it) the embedded store alone. */
export const engines: readonly Engine[] = adminUrl ? ['pglite', 'postgres'] : ['pglite']

/** For tests that are not about storage: an embedded store costs a second of CPU each time it is opened. */
export const anyEngine: Engine = adminUrl ? 'postgres' : 'pglite'
if (!adminUrl) console.error('*** TEST_DATABASE_URL is not set: no storage test runs on PostgreSQL ***')

/** Where a registry lives: the two settings that differ between the engines. */
export interface Place {
  readonly databaseUrl?: string
  readonly dataDir: string
}

const stacks = new WeakMap<TestContext, (() => unknown)[]>()

/** Cleans up after the test, last made first; `t.after` itself runs in the order of the calls. */
export function later(t: TestContext, clean: () => unknown): void {
  const stack = stacks.get(t) ?? []
  if (!stacks.has(t)) {
    stacks.set(t, stack)
    t.after(async () => {
      while (stack.length > 0) await stack.pop()!()
    })
  }
  stack.push(clean)
}

/** An empty folder that is removed after the test. */
export async function tempDir(t: TestContext, below = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(below, 'towpath-test-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A data directory with a migrated embedded store that nobody has used. */
export async function freshDataDir(t: TestContext): Promise<string> {
  const folder = await tempDir(t, storesFolder())
  await cp(join(await templateDir(), 'postgres'), join(folder, 'postgres'), { recursive: true })
  return folder
}

/** URL of a migrated database that nobody has used. */
export async function freshDatabase(t: TestContext): Promise<string> {
  const template = await templateDatabase()
  // copying files costs half of what copying through the log does
  return createDatabase(t, `template ${template} strategy file_copy`)
}

/** URL of an empty database: nothing is migrated. */
export const emptyDatabase = (t: TestContext): Promise<string> => createDatabase(t, '')

async function createDatabase(t: TestContext, how: string): Promise<string> {
  const name = newName('test')
  await administer(adminUrl!, `create database ${name} ${how}`)
  later(t, () => administer(adminUrl!, `drop database ${name} with (force)`))
  return urlOf(adminUrl!, name)
}

/** A fresh store of either engine. */
export async function freshPlace(t: TestContext, engine: Engine): Promise<Place> {
  if (engine === 'pglite') return { dataDir: await freshDataDir(t) }
  return { databaseUrl: await freshDatabase(t), dataDir: await tempDir(t) }
}

/** A registry that is closed after the test. */
export async function startRegistry(
  t: TestContext,
  place: Place,
  options: Partial<RegistryOptions> = {}
): Promise<Registry> {
  const registry = await openRegistry({ ...limits, ...place, mode: 'development', ...quiet, ...options })
  later(t, () => registry.close())
  return registry
}

const own: { dir?: Promise<string>; database?: Promise<string> } = {}

/** A file that runs without test/run.ts makes its own. */
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
