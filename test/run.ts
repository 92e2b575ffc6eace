import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { startPostgres } from './postgres.ts'
import { makeTemplates } from './templates.ts'

/**
 * Node 20's runner knows neither folders of TypeScript, nor a global set-up: this finds `*.test.ts` in the files and
 * folders given, starts PostgreSQL, runs node's runner on them and ends with its exit code. Options go to the runner.
 */
async function main(args: string[]): Promise<number> {
  const flags = args.filter((arg) => arg.startsWith('-'))
  const files = (await Promise.all(args.filter((arg) => !arg.startsWith('-')).map(testsIn))).flat()
  if (files.length === 0) return refuse('no test files found')

  const cluster = await startPostgres(process.env)
  if (!cluster) {
    if (process.env.CI || process.env.REQUIRE_PG)
      return refuse('no PostgreSQL found, and CI or REQUIRE_PG asks for one')
    console.error('*** NO POSTGRESQL FOUND: the storage tests run on the embedded store alone ***')
  }
  const templates = await makeTemplates(cluster?.url)
  try {
    return await runTests([...flags, ...files], { ...templates.env, TEST_DATABASE_URL: cluster?.url })
  } finally {
    await templates.remove()
    await cluster?.stop()
  }
}

async function testsIn(path: string): Promise<string[]> {
  if ((await stat(path)).isFile()) return [path]
  const names = await readdir(path, { recursive: true })
  return names
    .filter((name) => name.endsWith('.test.ts'))
    .toSorted()
    .map((name) => join(path, name))
}

async function runTests(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const flags = ['--import', 'tsx', '--test', '--test-concurrency=2', '--test-timeout=600000', '--test-reporter=spec']
  const child = spawn(process.execPath, [...flags, ...args], { stdio: 'inherit', env: { ...process.env, ...env } })
  // A terminal signals the whole group: the runner ends by itself, and the clean-up here still has to happen.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

function refuse(message: string): number {
  console.error(message)
  return 1
}

process.exitCode = await main(process.argv.slice(2))
