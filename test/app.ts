import { fileURLToPath } from 'node:url'
import type { TestContext } from 'node:test'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { buildApp, type BuildOptions } from '../src/app.ts'
import type { Observer } from '../src/observe/observation.ts'
import { readConfig, type Config, type Environment } from '../src/config/config.ts'
import { checkDocumented } from './documented.ts'
import { anyEngine, freshPlace, addCleanup, type Engine } from './store.ts'
import { until } from './until.ts'

export interface AppOptions {
  readonly engine?: Engine
  /** Settings in addition to the storage location. */
  readonly env?: Environment
  readonly log?: { write(line: string): void }
  readonly observers?: readonly Partial<Observer>[]
  readonly compileEagerly?: boolean
}

/** Tests and gateway share one event loop and often a busy machine, so event-loop delay must not count as overload. */
const unhurried = {
  TOWPATH_DATABASE_CONNECT_TIMEOUT_MS: '60000',
  TOWPATH_DATABASE_QUERY_TIMEOUT_MS: '60000',
  TOWPATH_EVENT_LOOP_LAG_MS: '60000'
}

/** Returns the configuration that the process would read, on an empty store. */
export async function freshConfig(t: TestContext, env: Environment = {}, engine: Engine = anyEngine): Promise<Config> {
  const { dataDir, databaseUrl } = await freshPlace(t, engine)
  const place = { PATH: process.env.PATH, TOWPATH_DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ...unhurried }
  return readConfig({ ...place, ...env }, {}, () => '').config
}

/** Returns the app, checking that openapi.json documents the status of every response. */
function documented(app: FastifyInstance): FastifyInstance {
  const inject = app.inject.bind(app)
  const checked = async (asked: InjectOptions | string) => {
    const answer = await inject(asked)
    const { method = 'GET', url = '' } = typeof asked === 'string' ? { url: asked } : asked
    if (typeof url === 'string') checkDocumented(method, url, answer.statusCode)
    return answer
  }
  return Object.assign(app, {
    inject: ((asked?: InjectOptions | string) => (asked === undefined ? inject() : checked(asked))) as typeof inject
  })
}

/** Builds the app and waits until its gateway runs; otherwise a slow store would open in the background. */
export async function openApp(config: Config, options: BuildOptions = {}): Promise<FastifyInstance> {
  const app = await buildApp(config, options)
  await app.ready()
  await until('the gateway to run', () => app.gateway)
  return documented(app)
}

/** Starts the gateway on an empty store without a socket; closed after the test. */
export async function startApp(t: TestContext, options: AppOptions = {}): Promise<FastifyInstance> {
  const { engine, env, ...build } = options
  const app = await openApp(await freshConfig(t, env, engine), build)
  addCleanup(t, () => app.close())
  return app
}

const good = fileURLToPath(new URL('./fixtures/stdio/good.mjs', import.meta.url))

/** Registration of a well-behaved stdio server. */
export const stdioServer = (name: string) => ({ name, transport: 'stdio', command: process.execPath, args: [good] })

/** Registers a server and expects success. */
export async function register(app: FastifyInstance, server: object): Promise<void> {
  const answer = await app.inject({ method: 'POST', url: '/api/v0/servers', payload: server })
  if (answer.statusCode !== 201) throw new Error(`registration failed: ${answer.statusCode} ${answer.body}`)
}
