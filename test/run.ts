import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleFixture } from './fixtures/conformance/bundle.ts'
import { startPostgres } from './postgres.ts'
import { runnerFlags } from './run-flags.ts'
import { makeTemplates } from './templates.ts'
import { installTools } from './tools/tools.ts'

/**
 * Node 20's runner supports neither folders of TypeScript nor a global set-up: this finds `*.test.ts` in the given
 * files and folders, starts PostgreSQL, runs node's runner on them and exits with its code. Options are passed to the
 * runner. Loading imports takes longer than most tests, so files of some folders share processes.
 */
async function main(args: string[]): Promise<number> {
  const flags = args.filter((arg) => arg.startsWith('-'))
  const batches = await mkdtemp(join(tmpdir(), 'towpath-batches-'))
  try {
    const paths = args.filter((arg) => !arg.startsWith('-'))
    if (paths.some(usesTools)) installTools()
    const files = (await Promise.all(paths.map(testsIn))).flat()
    return await runAll([...flags, ...(await joinFiles(files, batches))], paths.some(usesStore))
  } finally {
    await rm(batches, { recursive: true })
  }
}

/** Returns true for tests other than unit and property tests, which may run on PostgreSQL and on the embedded store. */
const usesStore = (path: string) => !/(^|\/)test\/(unit|property)(\/|$)/.test(path)

/** Returns true for tests that run other MCP clients and servers as programs. */
const usesTools = (path: string) => /(^|\/)test\/(e2e|nightly)(\/|$)/.test(path)

async function runAll(args: readonly string[], needsStore: boolean): Promise<number> {
  if (args.every((arg) => arg.startsWith('-'))) return refuse('no test files found')
  if (!needsStore) return runTests(args, {})

  const cluster = await startPostgres(process.env)
  if (!cluster) {
    if (process.env.CI || process.env.REQUIRE_PG)
      return refuse('no PostgreSQL found, and CI or REQUIRE_PG asks for one')
    console.error('*** NO POSTGRESQL FOUND: the storage tests run on the embedded store alone ***')
  }
  const prepared = [await makeTemplates(cluster?.url), await bundleFixture()]
  try {
    const env = Object.assign({}, ...prepared.map((each) => each.env)) as NodeJS.ProcessEnv
    return await runTests(args, { ...env, TEST_DATABASE_URL: cluster?.url })
  } finally {
    for (const each of prepared) await each.remove()
    await cluster?.stop()
  }
}

/** Number of files per process; files of other folders each have their own. */
const shared: Readonly<Record<string, number>> = { unit: 60, property: 60, integration: 10, e2e: 4, browser: 7 }

/** Folders whose processes take longest: begun last, one of them would end long after all others. */
const longest = ['nightly', 'slow', 'e2e', 'browser', 'integration']

/** Returns the given file, or the tests of a folder in order of name. */
async function testsIn(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path]
  const names = await readdir(path, { recursive: true })
  return names
    .filter((name) => name.endsWith('.test.ts'))
    .toSorted()
    .map((name) => join(path, name))
}

/** Writes one file for each process, which imports the tests that it runs. Resolves with the paths. */
async function joinFiles(files: readonly string[], batches: string): Promise<string[]> {
  const folderOf = (file: string) => basename(dirname(file))
  const written: string[] = []
  for (const folder of new Set(files.map(folderOf))) {
    const tests = files.filter((file) => folderOf(file) === folder)
    const count = Math.ceil(tests.length / (shared[folder] ?? 1))
    // the runner begins with the names that sort first
    const rank = (longest.indexOf(folder) + longest.length + 1) % (longest.length + 1)
    for (let batch = 0; batch < count; batch++) {
      // neighbours are much alike, often slow or quick: each goes to another process
      const own = tests.filter((_file, i) => i % count === batch)
      const path = join(batches, `${rank}-${folder}-${String(batch + 1).padStart(2, '0')}.test.mjs`)
      await writeFile(path, own.map((file) => `import '${pathToFileURL(resolve(file)).href}'\n`).join(''))
      written.push(path)
    }
  }
  return written
}

async function runTests(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const flags = [...runnerFlags, '--test-reporter=spec', ...args]
  const child = spawn(process.execPath, flags, { stdio: 'inherit', env: { ...process.env, ...env } })
  // a terminal signals the whole group: the runner ends by itself, and the clean-up here still has to run
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

function refuse(message: string): number {
  console.error(message)
  return 1
}

process.exitCode = await main(process.argv.slice(2))
