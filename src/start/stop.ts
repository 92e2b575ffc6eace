import type { FastifyInstance } from 'fastify'
import { CLOSE_MS } from './runtime.ts'

/** Drains and exits with 0; with 1 if that fails or takes too long. */
export function closeAndExit(app: FastifyInstance, drainMs: number): void {
  setTimeout(() => process.exit(1), drainMs + CLOSE_MS).unref()
  app.close().then(
    () => process.exit(0),
    (error: unknown) => {
      app.log.error({ err: error }, 'stopping failed')
      process.exit(1)
    }
  )
}
