import { isUtf8 } from 'node:buffer'
import { isObject } from '../../src/domain/is-object.ts'
import { parseRequests, readAnswers, type Answer } from './message.ts'
import type { Exchange } from './wire.ts'

/** The bytes sent on one connection. */
export interface Case {
  readonly text: string
  /** True if it is one complete request, which requires a response. */
  readonly isRequest: boolean
}

const leaks =
  /node_modules|\/src\/|\/dist\/|\bat [^"]{1,80}:\d+:\d+|\.[jt]s:\d+|\/tmp\/|\/root\/|postgres|pglite|insert into/i
const foreseen = new Set([502, 503, 504])

const isRpcError = ({ jsonrpc, error }: Record<string, unknown>) =>
  jsonrpc === '2.0' && isObject(error) && typeof error.code === 'number' && typeof error.message === 'string'

/** Returns the problem with a response; undefined if there is none. */
export function judgeAnswer(
  { status, headers, body, isComplete }: Answer,
  method: string | undefined
): string | undefined {
  if (status >= 500 && !foreseen.has(status)) return `status ${status}: ${body}`
  if (status < 400 && headers.get('content-type') === 'text/event-stream') return problemOfStream(body)
  if (method === 'HEAD' || (body === '' && !isComplete)) return undefined
  if (status < 400) return isComplete && isJson(headers) && body !== '' ? problemOfJson(body) : undefined
  if (leaks.test(body)) return `${status} that tells too much: ${body}`
  if (isSignInPage(headers, body)) return undefined
  if (!isJson(headers)) return `${status} of another type than JSON`
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(body, 'latin1').toString())
  } catch {
    return `${status} whose body is no JSON: ${body}`
  }
  if (isObject(value) && (typeof value.error === 'string' || isRpcError(value))) return undefined
  return `${status} whose body is neither {error} nor a JSON-RPC error: ${body}`
}

/** Returns true for the page that ends a sign-in, the only HTML error of the API. */
const isSignInPage = (headers: ReadonlyMap<string, string>, body: string) =>
  headers.get('content-type') === 'text/html; charset=utf-8' && /^<!doctype html>.*<h1>The sign-in was /.test(body)

const isJson = (headers: ReadonlyMap<string, string>) => /^application\/json\b/.test(headers.get('content-type') ?? '')

function problemOfJson(body: string): string | undefined {
  const bytes = Buffer.from(body, 'latin1')
  try {
    if (!isUtf8(bytes)) return `a body that is not UTF-8: ${body}`
    JSON.parse(bytes.toString())
    return undefined
  } catch {
    return `a body that is no JSON: ${body}`
  }
}

function problemOfStream(body: string): string | undefined {
  for (const [, data = ''] of body.matchAll(/^data: (\{.*\})$/gm)) {
    try {
      JSON.parse(Buffer.from(data, 'latin1').toString())
    } catch {
      return `an event that is no JSON: ${data}`
    }
  }
  return undefined
}

/** Returns the problem with the received bytes; undefined if there is none. */
export function judge({ text, isRequest }: Case, { received, isClosed }: Exchange): string | undefined {
  const { complete, hasRest } = parseRequests(text)
  let answers: Answer[]
  try {
    answers = readAnswers(received, complete)
  } catch (error) {
    return (error as Error).message
  }
  const most = complete.length + (hasRest ? 1 : 0)
  if (answers.length > most) return `${answers.length} answers to ${most} requests`
  if (isRequest && answers.length === 0 && complete[0] !== 'CONNECT') {
    return isClosed ? 'closed without an answer' : 'no answer'
  }
  for (const [i, answer] of answers.entries()) {
    const problem = judgeAnswer(answer, complete[i])
    if (problem !== undefined) return problem
  }
  return undefined
}
