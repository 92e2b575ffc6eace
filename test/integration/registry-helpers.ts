import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Change, UpstreamOffer, OfferedItem, RegistryState, ServerConfig } from '../../src/registry/model/model.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { addCleanup, type StoreLocation } from '../store.ts'

const actor = { kind: 'development', name: 'development' } as const

export const change = (action: string, target: string): Change => ({ actor, action, target })

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

export const offerOf = (items: readonly OfferedItem[]): UpstreamOffer => ({
  negotiation: {
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

/** Subscribes to a registry and waits for the catalog versions that the subscriber receives. */
export async function follow(registry: Pick<Registry, 'follow'>) {
  const seen: RegistryState[] = []
  const waiting = new Set<() => void>()
  await registry.follow((state) => {
    seen.push(state)
    for (const wake of waiting) wake()
  })
  const latest = () => seen.at(-1)!
  const until = (condition: (state: RegistryState) => boolean, limitMs = 60_000) =>
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

export interface Child {
  readonly pid: number
  /** Lines of stdout so far. */
  readonly lines: readonly string[]
  /** Resolves after `count` lines; rejects if the process ends first. */
  has(count: number): Promise<void>
  /** Exit code, or the signal that ended the process. */
  readonly ended: Promise<number | string>
  kill(): Promise<unknown>
}

/** Runs registry-child.ts, until the end of the test at most. */
export function startChild(t: TestContext, task: 'hold' | 'pass' | 'write', place: StoreLocation): Child {
  const script = fileURLToPath(new URL('registry-child.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script, task, JSON.stringify(place)], {
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const lines: string[] = []
  const wakers = new Set<() => void>()
  let errors = ''
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line)
    for (const wake of wakers) wake()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal!))
  })
  const kill = () => {
    child.kill('SIGKILL')
    return ended
  }
  const has = (count: number) =>
    new Promise<void>((resolve, reject) => {
      const check = () => {
        if (lines.length >= count) resolve()
      }
      wakers.add(check)
      check()
      void ended.then((how) => reject(new Error(`the child has ended (${how}): ${errors}`)))
    })
  addCleanup(t, kill)
  return { pid: child.pid!, lines, has, ended, kill }
}
