import type { Change, Offer, OfferedItem, RegistryState, ServerConfig } from '../../src/registry/model.ts'
import type { Registry } from '../../src/registry/registry.ts'

export const change = (action: string, target: string): Change => ({ actor: 'development', action, target })

export const httpServer = (name: string, more: Partial<ServerConfig> = {}): ServerConfig => ({
  name,
  transport: 'streamable_http',
  session_mode: 'stateless',
  url: 'http://127.0.0.1:9/mcp',
  ...more
})

export const tool = (name: string, description = 'a tool'): OfferedItem => ({
  kind: 'tool',
  name,
  definition: JSON.stringify({ name, description, inputSchema: { type: 'object' } })
})

export const offerOf = (items: readonly OfferedItem[]): Offer => ({
  verdict: {
    modern: null,
    legacy: '2025-06-18',
    hasSessions: true,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'upstream', version: '1' },
    instructions: null,
    checkedAt: '2026-01-02T03:04:05.000Z'
  },
  items
})

/** Follows a registry and waits for what the follower has seen. */
export async function follow(registry: Registry) {
  const seen: RegistryState[] = []
  const waiting = new Set<() => void>()
  await registry.follow((state) => {
    seen.push(state)
    for (const wake of waiting) wake()
  })
  const latest = () => seen.at(-1)!
  const until = (condition: (state: RegistryState) => boolean, limitMs: number) =>
    new Promise<RegistryState>((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer)
        waiting.delete(check)
      }
      const check = () => {
        if (!condition(latest())) return
        stop()
        resolve(latest())
      }
      const timer = setTimeout(() => {
        stop()
        reject(new Error(`not seen within ${limitMs} ms, at version ${latest().version}`))
      }, limitMs)
      waiting.add(check)
      check()
    })
  return { seen, latest, until }
}
