import { isUtf8 } from 'node:buffer'
import { judgeAnswer } from '../oracle.ts'

/** A response of the gateway, as bytes. */
export interface Reply {
  readonly status: number
  readonly type: string
  readonly bytes: Buffer
}

/** Returns true for an internal error of the gateway without further detail. */
const isBug = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(isBug)
  const { error } = (value ?? {}) as { error?: unknown }
  if (typeof error === 'string') return /^internal (server )?error$/i.test(error)
  return /^internal error$/i.test(String((error as { message?: unknown } | undefined)?.message))
}

/** Returns the JSON values of a response: the body, or the data of each complete event. Throws on anything else. */
export function valuesOf({ type, bytes }: Reply): unknown[] {
  if (!isUtf8(bytes)) throw new Error('not UTF-8')
  const text = bytes.toString()
  if (!type.startsWith('text/event-stream')) return text === '' ? [] : [JSON.parse(text)]
  return text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((frame) => {
      if (frame.includes('\r')) throw new Error('a carriage return in an event')
      const lines = frame.split('\n')
      const isEndpoint = lines.includes('event: endpoint')
      const data = lines.flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
      return isEndpoint || data.join('') === '' ? [] : [JSON.parse(data.join('\n')) as unknown]
    })
}

/** Returns the problem with a response, whatever the upstream sent; undefined if there is none. */
export function problemOfReply(what: string, reply: Reply): string | undefined {
  const { status, type, bytes } = reply
  const shown = () => `${what}: ${status} ${bytes.toString('latin1').slice(0, 1_500)}`
  try {
    if (valuesOf(reply).some(isBug)) return `an internal error in ${shown()}`
  } catch (error) {
    return `no JSON (${(error as Error).message}) in ${shown()}`
  }
  const headers = new Map([['content-type', type]])
  const problem = judgeAnswer({ status, headers, body: bytes.toString('latin1'), isComplete: true }, 'POST')
  return problem === undefined ? undefined : `${what}: ${problem}`
}
