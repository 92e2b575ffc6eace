import fp from 'fastify-plugin'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config.ts'
import { demoRegistration, isDemoRegistration } from '../demo/registration.ts'
import { PRODUCT } from '../domain/product.ts'
import { AppError } from '../errors.ts'
import { createGateway, type RunningGateway } from '../gateway/create-gateway.ts'
import { developmentCaller, type Caller } from '../gateway/gateway.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly gateway: RunningGateway
  }
}

export type GatewayPluginOptions = Pick<
  Config,
  'mode' | 'adminToken' | 'stdio' | 'egress' | 'timeouts' | 'limits' | 'refreshIntervalMs' | 'demo'
> & {
  version: string
}

/** Whoever started the process; nobody asks it for a token. */
const atStart: Caller = { ...developmentCaller, kind: 'admin', name: PRODUCT, key: PRODUCT }

/** A failure costs the demo, not the start. Another installation's demo is replaced, any other server of its name is not. */
async function registerDemo(gateway: RunningGateway, log: FastifyBaseLogger): Promise<void> {
  const config = demoRegistration()
  const known = gateway.servers(atStart).find(({ name }) => name === config.name)
  if (known && !isDemoRegistration(known)) {
    return log.warn(`--demo has no effect: another server is registered as "${config.name}"`)
  }
  if (known && JSON.stringify(known.args) === JSON.stringify(config.args)) return
  try {
    await gateway.register(atStart, config, { force: true })
  } catch (err) {
    log.error({ err }, 'the demo server could not be registered')
  }
}

/** Of several replicas that start on an empty database one wins, and the others serve what it made. */
async function bootstrap(gateway: RunningGateway, token: string, log: FastifyBaseLogger): Promise<void> {
  if (gateway.initialized) return
  try {
    await gateway.initialize({}, token)
    log.info('initialized with the configured access token of an administrator')
  } catch (error) {
    if (!(error instanceof AppError) || error.statusCode !== 409) throw error
  }
}

/** Loads the catalog before anything listens; contacts no upstream by itself. */
export default fp<GatewayPluginOptions>(
  async (app, { version, mode, adminToken, stdio, egress, timeouts, limits, refreshIntervalMs, demo }) => {
    const { registry, log } = app
    const config = { mode, stdio, egress, timeouts, limits, refreshIntervalMs }
    const listening = () => app.addresses().filter((place) => typeof place === 'object')
    const gateway = createGateway({ registry, config, version, listening, log })
    app.addHook('onClose', () => gateway.close())
    await gateway.start()
    if (mode === 'enterprise' && adminToken !== undefined) await bootstrap(gateway, adminToken, log)
    app.decorate('gateway', gateway)

    // before `listen` resolves, so that whoever saw the banner can call it
    if (demo) app.addHook('onReady', () => registerDemo(gateway, log))
  },
  { name: 'gateway', dependencies: ['registry'] }
)
