import fp from 'fastify-plugin'
import type { Config } from '../config.ts'
import { demoRegistration } from '../demo/registration.ts'
import { createGateway, type RunningGateway } from '../gateway/create-gateway.ts'
import { developmentCaller } from '../gateway/gateway.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly gateway: RunningGateway
  }
}

export type GatewayPluginOptions = Pick<Config, 'stdio' | 'timeouts' | 'limits' | 'refreshIntervalMs' | 'demo'> & {
  version: string
}

/** Loads the catalog before anything listens; contacts no upstream by itself. */
export default fp<GatewayPluginOptions>(
  async (app, { version, stdio, timeouts, limits, refreshIntervalMs, demo }) => {
    const { registry, log } = app
    const gateway = createGateway({ registry, config: { stdio, timeouts, limits, refreshIntervalMs }, version, log })
    app.addHook('onClose', () => gateway.close())
    await gateway.start()
    app.decorate('gateway', gateway)

    if (demo) {
      // before `listen` resolves, so that whoever saw the banner can call it; a failure costs the demo, not the start
      app.addHook('onReady', async () => {
        const config = demoRegistration()
        if (gateway.servers(developmentCaller).some(({ name }) => name === config.name)) return
        try {
          await gateway.register(developmentCaller, config, { force: false })
        } catch (err) {
          log.error({ err }, 'the demo server could not be registered')
        }
      })
    }
  },
  { name: 'gateway', dependencies: ['registry'] }
)
