import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** An attacker's knowledge of its target. */
export interface Target {
  readonly port: number
  /** Undefined for an anonymous visitor and in development mode. */
  readonly token: string | undefined
}

/** One kind of attack, bounded in count and time. */
export type Burst = (aim: Target) => Promise<unknown>

const HOLD_MS = 2_000
const PATIENCE_MS = 5_000

/** Headers that accept both response types for a JSON body. */
export const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export const times = (count: number, work: (at: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)))

const fieldsOf = ({ token }: Target): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

/** Returns the request line and headers as text. */
export function head(aim: Target, method: string, path: string, more: Record<string, string> = {}): string {
  const fields = { host: `127.0.0.1:${aim.port}`, ...fieldsOf(aim), ...more }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Returns a whole request with a JSON body as text. */
export const postText = (aim: Target, path: string, body: string, more: Record<string, string> = {}) =>
  head(aim, 'POST', path, { ...json, ...more, 'content-length': `${Buffer.byteLength(body)}` }) + body

const open = ({ port }: Target): Socket => connect(port, '127.0.0.1').on('error', () => {})

/** Sends bytes on sockets without reading the responses; then sends `drip` repeatedly. */
export async function sendWithoutReading(aim: Target, count: number, text: string, drip?: string): Promise<void> {
  const sockets = Array.from({ length: count }, () => open(aim).pause())
  for (const socket of sockets) socket.write(text)
  for (let at = 0; drip !== undefined && at < 20; at++) {
    await delay(100)
    for (const socket of sockets) if (!socket.destroyed) socket.write(drip)
  }
  await delay(HOLD_MS)
  for (const socket of sockets) socket.destroy()
}

/** Sends bytes, half-closes the connection, and reads until the other side closes too. */
export async function sendHalfClosed(aim: Target, count: number, text: string): Promise<void> {
  const sockets = Array.from({ length: count }, () => open(aim).resume())
  for (const socket of sockets) socket.end(text)
  await delay(HOLD_MS)
  for (const socket of sockets) socket.destroy()
}

/** Sends a request and resets the connection before the response. */
export async function sendAndReset(aim: Target, count: number, text: string, afterMs: number): Promise<void> {
  const sockets = Array.from({ length: count }, () => open(aim).resume())
  for (const socket of sockets) socket.write(text)
  await delay(afterMs)
  for (const socket of sockets) socket.resetAndDestroy()
}

/** Sends any request and reads the response, whatever its status. */
export async function send(
  aim: Target,
  method: string,
  path: string,
  more: Record<string, string> = {},
  body?: string
): Promise<Headers | undefined> {
  try {
    const init = { method, headers: { ...fieldsOf(aim), ...more }, ...(body === undefined ? {} : { body }) }
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const response = await fetch(`http://127.0.0.1:${aim.port}${path}`, { ...init, signal, redirect: 'manual' })
    for await (const _ of response.body ?? []);
    return response.headers
  } catch {
    return undefined
  }
}

/** Sends a POST with a JSON body. */
export const post = (aim: Target, path: string, body: string, more: Record<string, string> = {}) =>
  send(aim, 'POST', path, { ...json, ...more }, body)
