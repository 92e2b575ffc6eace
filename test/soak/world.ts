import { setTimeout as delay } from 'node:timers/promises'
import type { Tally } from './tally.ts'

export type Headers = Readonly<Record<string, string>>

/** Shared state of the callers. */
export interface World {
  readonly url: string
  /** URL of an upstream without a fault proxy. */
  readonly upstreamUrl: string
  readonly admin: Headers
  readonly client: Headers
  readonly isEnterprise: boolean
  readonly tally: Tally
  readonly stop: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly headers: globalThis.Headers
  readonly text: string
}

/** Longer than any wait of the gateway in this test. */
const TIMEOUT_MS = 30_000

const json: Headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export async function ask(
  { url }: World,
  method: string,
  path: string,
  headers: Headers,
  body?: unknown,
  signal: AbortSignal = AbortSignal.timeout(TIMEOUT_MS)
): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const init = body === undefined ? { headers } : { headers: { ...json, ...headers }, body: text }
  const response = await fetch(url + path, { method, signal, ...init })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Statuses allowed while a fault is active. */
const explained = new Set([429, 502, 503, 504])

/** Counts a response. Returns true if its status is one of the expected ones. */
export function count({ tally }: World, kind: string, { status, text }: Reply, ...hoped: number[]): boolean {
  if (hoped.includes(status)) {
    tally.recordAnswer(kind)
    return true
  }
  if (explained.has(status)) tally.recordRefusal(kind)
  else tally.recordLoss(kind, `${status} ${text}`)
  return false
}

/** Repeats the work until the end; an exception counts as a lost response. */
export async function repeat(world: World, kind: string, pauseMs: number, work: (round: number) => Promise<void>) {
  for (let round = 0; !world.stop.aborted; round++) {
    await work(round).catch((error: unknown) => world.tally.recordLoss(kind, (error as Error).cause ?? error))
    await delay(pauseMs)
  }
}
