import type { FastifyInstance } from 'fastify'

const CLASSES = new Set(['fastify.Request', 'fastify.Reply'])

/**
 * Lets all plugins share the classes of requests and replies. Fastify gives each encapsulated plugin its own, for
 * decorations that only it has; here all decorations belong to the root. The hooks of all routes would meet objects of
 * dozens of shapes, which costs up to a tenth of a call's CPU once more than four were used. Call it before `register`.
 */
export function shareClasses(app: FastifyInstance): void {
  const root = app as unknown as Record<symbol, unknown>
  const shared = Object.getOwnPropertySymbols(root).filter(({ description }) => CLASSES.has(description ?? ''))
  app.addHook('onRegister', (instance) => {
    for (const symbol of shared) (instance as unknown as Record<symbol, unknown>)[symbol] = root[symbol]
  })
}
