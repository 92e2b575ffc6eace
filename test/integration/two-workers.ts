import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Environment } from '../../src/config/config.ts'
import { freshConfig, openApp } from '../app.ts'
import { addCleanup, engines, tempDir } from '../store.ts'
import { until } from '../until.ts'

/** The `skip` option for tests of workers, which need PostgreSQL. */
export const skip = engines.includes('postgres') ? false : 'no PostgreSQL'

type Fetch = typeof fetch

/** Two workers of one gateway, each on a port of its own, so that a test decides which one a request reaches first. */
export interface TwoWorkers {
  readonly apps: readonly [FastifyInstance, FastifyInstance]
  readonly urls: readonly [string, string]
  /** Folder of the sockets. */
  readonly folder: string
  /** Sends requests for the first worker's URL to both by turns. */
  readonly fetch: Fetch
  /** Numbers of sessions that the workers know. */
  readonly sessions: () => readonly number[]
  /** Starts a worker again, after its app was closed. */
  readonly restart: (index: 0 | 1) => Promise<FastifyInstance>
}

export interface WorkerOptions {
  readonly env?: Environment
  readonly log?: { write(line: string): void }
}

export async function startWorkers(t: TestContext, { env = {}, log }: WorkerOptions = {}): Promise<TwoWorkers> {
  const folder = await tempDir(t)
  const config = await freshConfig(t, { OTEL_ENABLED: 'on', ...env }, 'postgres')
  const apps: FastifyInstance[] = []
  const ports: number[] = []
  const start = async (index: number) => {
    const app = await openApp(config, { place: { index, count: 2, folder }, ...(log && { log }) })
    addCleanup(t, () => app.close())
    await app.listen({ port: ports[index] ?? 0, host: '127.0.0.1' })
    ports[index] = (app.server.address() as { port: number }).port
    apps[index] = app
    return app
  }
  await start(0)
  await start(1)
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  let turn = 0
  const byTurns: Fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    return fetch(url.replace(urls[0]!, urls[turn++ % 2]!), init)
  }
  return {
    apps: apps as unknown as TwoWorkers['apps'],
    urls: urls as unknown as TwoWorkers['urls'],
    folder,
    fetch: byTurns,
    sessions: () => apps.map((app) => app.gateway.stats().sessions),
    restart: start
  }
}

/** Registers a server at the first worker, and waits until both serve its tools. */
export async function registerAtBoth({ apps }: TwoWorkers, server: { readonly name: string }): Promise<void> {
  const answer = await apps[0].inject({ method: 'POST', url: '/api/v0/servers', payload: server })
  if (answer.statusCode !== 201) throw new Error(`registration failed: ${answer.statusCode} ${answer.body}`)
  const tools = async () => (await apps[1].inject({ url: `/api/v0/tools?server=${server.name}` })).json<unknown[]>()
  await until('the other worker to have its tools', async () => (await tools()).length > 0)
}
