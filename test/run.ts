import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
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
    const files = (await Promise.all(paths.map((path) => testsIn(path, batches)))).flat()
    return await runAll([...flags, ...files], paths.some(usesStore))
  } finally {
    await rm(batches, { recursive: true })
  }
}

/** Returns true for tests other than unit and property tests, which may run on PostgreSQL and on the embedded store. */
const usesStore = (path: string) => !/(^|\/)test\/(unit|property)(\/|$)/.test(path)

/** Returns true for tests that run other MCP clients and servers as programs. */
const usesTools = (path: string) => /(^|\/)test\/e2e(\/|$)/.test(path)

async function runAll(args: readonly string[], needsStore: boolean): Promise<number> {
  if (args.every((arg) => arg.startsWith('-'))) return refuse('no test files found')
  if (!needsStore) return runTests(args, {})

  const cluster = await startPostgres(process.env)
  if (!cluster) {
    if (process.env.CI || process.env.REQUIRE_PG)
      return refuse('no PostgreSQL found, and CI or REQUIRE_PG asks for one')
    console.error('*** NO POSTGRESQL FOUND: the storage tests run on the embedded store alone ***')
  }
  const templates = await makeTemplates(cluster?.url)
  try {
    return await runTests(args, { ...templates.env, TEST_DATABASE_URL: cluster?.url })
  } finally {
    await templates.remove()
    await cluster?.stop()
  }
}

/** Number of files per process; files of other folders each have their own. */
const shared: Readonly<Record<string, number>> = { unit: 60, property: 60, integration: 6 }

async function testsIn(path: string, batches: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path]
  const names = (await readdir(path, { recursive: true })).filter((name) => name.endsWith('.test.ts')).toSorted()
  const files = names.map((name) => join(path, name))
  const size = shared[basename(path)] ?? 1
  if (size === 1) return files
  const together: string[] = []
  for (let from = 0; from < files.length; from += size) {
    const batch = join(batches, `${basename(path)}-${together.length + 1}.test.mjs`)
    const imports = files.slice(from, from + size).map((file) => `import '${pathToFileURL(resolve(file)).href}'\n`)
    await writeFile(batch, imports.join(''))
    together.push(batch)
  }
  return together
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
