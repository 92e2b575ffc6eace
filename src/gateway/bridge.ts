import { PRODUCT } from '../domain/product.ts'
import { JsonError, members, valueOf, withMembers } from './json.ts'
import type { Answer } from './upstream/call.ts'
import type { Era } from './upstream/connection.ts'
import { UpstreamFailure } from './upstream/failure.ts'

/** Prefix of the protocol's own `_meta` keys. */
export const META = 'io.modelcontextprotocol/'
const SERVER_INFO = `${META}serverInfo`
const UPSTREAM_INFO = `${PRODUCT}/upstream`

/** Where an answer goes and what it answers: enough to adapt it (proxy page 4.5, "Era adaptation"). */
export interface Adaptation {
  readonly method: string
  /** Era of the wire that the answer came over. */
  readonly from: Era
  /** `rest` is as legacy. */
  readonly to: Era
  readonly server: string
  /** JSON text of our own `serverInfo`, stamped on modern results. */
  readonly serverInfo: string
}

const badResponse = (message: string) => new UpstreamFailure('bad_response', message)

/** Text and bytes stand for each other one to one here, so no character set is decoded on the way. */
const toBytes = (text: string) => Buffer.from(text, 'latin1')
const toText = (bytes: Buffer) => bytes.toString('latin1')

const isCached = (method: string) => method === 'resources/read'

/** Results in answer to a call that asked for nothing unusual. */
const contentStart = Buffer.from('{"content":[')
const isPlainResult = (body: Buffer) => body.subarray(0, contentStart.length).equals(contentStart)

/** Members that a result of the method must have; without them it is no answer (UP-04). */
const required: Readonly<Record<string, string>> = {
  'tools/call': 'content',
  'prompts/get': 'messages',
  'resources/read': 'contents'
}

function checkResult(found: readonly { key: string }[], resultType: string | undefined, { method }: Adaptation): void {
  if (resultType !== undefined && resultType !== '"complete"') {
    throw badResponse('the upstream answered with a kind of result that was not asked for')
  }
  const member = required[method]
  if (member && !found.some(({ key }) => key === member || key === 'task')) {
    throw badResponse(`the upstream's result has no "${member}"`)
  }
}

/** `_meta` of a result with our identity in place of the upstream's, which moves to a key of ours. */
function stampedMeta(meta: string | undefined, { server, serverInfo }: Adaptation): string {
  const kept = meta?.startsWith('{') ? meta : '{}'
  const theirs = valueOf(kept, members(kept), SERVER_INFO)
  const rest = withMembers(kept, { [SERVER_INFO]: null, [UPSTREAM_INFO]: null }).slice(1, -1)
  const moved =
    theirs === undefined ? '' : `,"${UPSTREAM_INFO}":{"server":${JSON.stringify(server)},"serverInfo":${theirs}}`
  return `{"${SERVER_INFO}":${serverInfo}${moved}${rest === '' ? '' : `,${rest}`}}`
}

function toModern(text: string, meta: string | undefined, ttl: string | undefined, adaptation: Adaptation): string {
  const rest = withMembers(text, { resultType: null, ttlMs: null, cacheScope: null, _meta: null }).slice(1, -1)
  const cache = isCached(adaptation.method) ? `,"ttlMs":${ttl ?? '0'},"cacheScope":"private"` : ''
  const stamped = stampedMeta(meta, adaptation)
  return `{${rest === '' ? '' : `${rest},`}"resultType":"complete"${cache},"_meta":${stamped}}`
}

function toLegacy(text: string, meta: string | undefined, { method }: Adaptation): string {
  const kept = meta?.startsWith('{') ? withMembers(meta, { [SERVER_INFO]: null }) : meta
  return withMembers(text, {
    resultType: null,
    ...(isCached(method) ? { ttlMs: null, cacheScope: null } : {}),
    ...(kept === undefined ? {} : { _meta: kept === '{}' ? null : kept })
  })
}

/** A result as the caller's era has it. Throws UpstreamFailure `bad_response`. */
export function adaptResult(body: Buffer, adaptation: Adaptation): Buffer {
  const { from, to, method } = adaptation
  if (from === 'legacy' && to === 'legacy' && (!required[method] || (method === 'tools/call' && isPlainResult(body)))) {
    return body
  }
  const text = toText(body)
  const found = read(() => members(text))
  const resultType = from === 'modern' ? valueOf(text, found, 'resultType') : undefined
  checkResult(found, resultType, adaptation)
  const meta = valueOf(text, found, '_meta')
  if (to === 'modern') return toBytes(toModern(text, meta, valueOf(text, found, 'ttlMs'), adaptation))
  return from === 'legacy' ? body : toBytes(toLegacy(text, meta, adaptation))
}

function read<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof JsonError || error instanceof SyntaxError)
      throw badResponse('the upstream sent malformed JSON')
    throw error
  }
}

interface ErrorBody {
  code: number
  message: string
  data?: unknown
}

/** An upstream's error that the caller's era would read as something else, or that is ours to solve (proxy page 4.5). */
const translated: Record<Era, Readonly<Record<number, number>>> = {
  modern: { [-32002]: -32602, [-32020]: -32603, [-32022]: -32603 },
  legacy: { [-32021]: -32603, [-32020]: -32603, [-32022]: -32603 }
}

export interface AdaptedError {
  readonly body: Buffer
  /** HTTP status towards an MCP client. */
  readonly status: number
}

/** Code, message and data pass unchanged but for what the caller's era reserves. Throws UpstreamFailure. */
export function adaptError(body: Buffer, to: Era): AdaptedError {
  const error = read(() => JSON.parse(body.toString()) as Partial<ErrorBody>)
  if (typeof error.code !== 'number' || typeof error.message !== 'string') {
    throw badResponse('the upstream sent a malformed error')
  }
  const code = translated[to][error.code]
  const status = to === 'modern' && error.code === -32021 ? 400 : 200
  return code === undefined ? { body, status } : { body: Buffer.from(JSON.stringify({ ...error, code })), status }
}

/** Reads an upstream's error message for REST. */
export function errorMessage({ body }: Answer): string {
  const { message } = JSON.parse(body.toString()) as Partial<ErrorBody>
  return typeof message === 'string' ? message : 'unknown error'
}
