import { PRODUCT } from '../domain/product.ts'
import { INPUT_REQUIRED, META } from '../domain/protocol.ts'
import { JsonError, members, valueOf, withMembers } from './json.ts'
import type { Changes, Payload } from './payload.ts'
import type { Answer } from './upstream/call.ts'
import type { Era } from './upstream/connection.ts'
import { UpstreamFailure } from './upstream/failure.ts'

const SERVER_INFO = `${META}serverInfo`
const UPSTREAM_INFO = `${PRODUCT}/upstream`

/** The two eras of an answer and the method that it answers: enough to adapt it (mcp-proxy.md#upstream-errors). */
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

const isCacheable = (method: string) => method === 'resources/read'

/** Members that a result of the method must have; without them it is no answer (UP-04). */
const requiredMember: Readonly<Record<string, string>> = {
  'tools/call': 'content',
  'prompts/get': 'messages',
  'resources/read': 'contents'
}

/**
 * A question to the caller instead of an answer: passes between modern sides as it is (mcp-proxy.md#asking-the-client).
 */
const isInputRequired = (resultType: string | undefined, { method, to }: Adaptation) =>
  resultType === `"${INPUT_REQUIRED}"` && to === 'modern' && requiredMember[method] !== undefined

function checkResult(result: Payload, resultType: string | undefined, { method }: Adaptation): void {
  if (resultType !== undefined && resultType !== '"complete"') {
    throw badResponse('the upstream answered with a kind of result that was not asked for')
  }
  const member = requiredMember[method]
  if (member && !result.members.some(({ key }) => key === member || key === 'task')) {
    throw badResponse(`the upstream's result has no "${member}"`)
  }
}

/** `_meta` of a result with our identity in place of the upstream's, which moves to a key of ours. */
function metaWithServerInfo(meta: string | undefined, { server, serverInfo }: Adaptation): string {
  if (!meta?.startsWith('{')) return `"_meta":{"${SERVER_INFO}":${serverInfo}}`
  const found = members(meta)
  const theirs = valueOf(meta, found, SERVER_INFO)
  const rest = withMembers(meta, { [SERVER_INFO]: null, [UPSTREAM_INFO]: null }, found).slice(1, -1)
  const moved =
    theirs === undefined ? '' : `,"${UPSTREAM_INFO}":{"server":${JSON.stringify(server)},"serverInfo":${theirs}}`
  return `"_meta":{"${SERVER_INFO}":${serverInfo}${moved}${rest === '' ? '' : `,${rest}`}}`
}

/** A legacy upstream knows no cache hints, whatever it calls a member. */
const ttlOf = (ttl: string | undefined, { from }: Adaptation) =>
  from === 'modern' && ttl !== undefined && /^\d{1,15}$/.test(ttl) ? ttl : '0'

const cacheHints = { ttlMs: null, cacheScope: null } as const
const metaOnly: Changes = { _meta: null }
const metaAndType: Changes = { resultType: null, _meta: null }
const metaTypeAndCache: Changes = { ...metaAndType, ...cacheHints }

function toModern(result: Payload, resultType: string | undefined, adaptation: Adaptation): Payload {
  const meta = metaWithServerInfo(result.valueOf('_meta'), adaptation)
  if (!isCacheable(adaptation.method)) {
    // most results of modern upstreams: they say already that they are complete
    if (resultType !== undefined) return result.changed(metaOnly, meta)
    return result.changed(metaAndType, `"resultType":"complete",${meta}`)
  }
  const cache = `"ttlMs":${ttlOf(result.valueOf('ttlMs'), adaptation)},"cacheScope":"private"`
  return result.changed(metaTypeAndCache, `"resultType":"complete",${cache},${meta}`)
}

function toLegacy(result: Payload, { method }: Adaptation): Payload {
  const meta = result.valueOf('_meta')
  const kept = meta?.startsWith('{') ? withMembers(meta, { [SERVER_INFO]: null }) : meta
  return result.changed(
    {
      resultType: null,
      ...(isCacheable(method) ? cacheHints : {}),
      ...(kept === undefined || kept === meta ? {} : { _meta: kept === '{}' ? null : kept })
    },
    ''
  )
}

/** A result as the caller's era has it. Throws UpstreamFailure `bad_response`. */
export function adaptResult(result: Payload, adaptation: Adaptation): Payload {
  const { from, to, method } = adaptation
  if (from === 'legacy' && to === 'legacy' && !requiredMember[method]) return result
  return readAnswer(() => {
    const resultType = from === 'modern' ? result.valueOf('resultType') : undefined
    if (isInputRequired(resultType, adaptation)) {
      return result.changed(metaOnly, metaWithServerInfo(result.valueOf('_meta'), adaptation))
    }
    checkResult(result, resultType, adaptation)
    if (to === 'modern') return toModern(result, resultType, adaptation)
    return from === 'legacy' ? result : toLegacy(result, adaptation)
  })
}

/** Throws UpstreamFailure `bad_response` where a part of an upstream's answer that nobody has read yet cannot be. */
export function readAnswer<T>(work: () => T): T {
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
}

/**
 * Codes of upstreams that the caller's era reads as something else, or that are ours to solve
 * (mcp-proxy.md#upstream-errors).
 */
const translatedCodes: Record<Era, Readonly<Record<number, number>>> = {
  modern: { [-32002]: -32602, [-32020]: -32603, [-32022]: -32603, [-32042]: -32603 },
  legacy: { [-32021]: -32603, [-32020]: -32603, [-32022]: -32603 }
}

/** The modern era gives these to no handler (mcp-proxy.md#modern-wire). */
const isLegacyOnly = (code: number) => code <= -32000 && code >= -32019

const translate = (code: number, to: Era): number =>
  translatedCodes[to][code] ?? (to === 'modern' && isLegacyOnly(code) ? -32603 : code)

const readError = (body: Payload) => JSON.parse(body.toString()) as Partial<ErrorBody> | null

export interface AdaptedError {
  readonly body: Payload
  /** HTTP status towards an MCP client. */
  readonly status: number
}

/** Code, message and data pass unchanged but for what the caller's era reserves. Throws UpstreamFailure. */
export function adaptError(body: Payload, to: Era): AdaptedError {
  const error = readAnswer(() => readError(body))
  if (typeof error?.code !== 'number' || typeof error.message !== 'string') {
    throw badResponse('the upstream sent a malformed error')
  }
  const code = translate(error.code, to)
  const status = to === 'modern' && code === -32021 ? 400 : 200
  return code === error.code ? { body, status } : { body: body.changed({ code: String(code) }, ''), status }
}

const memberOfError = ({ body }: Answer, name: 'code' | 'message'): unknown => {
  try {
    return readError(body)?.[name]
  } catch {
    return undefined
  }
}

/** Reads an upstream's error message for REST. */
export function errorMessage(answer: Answer): string {
  const message = memberOfError(answer, 'message')
  return typeof message === 'string' ? message : 'unknown error'
}

/** Reads an upstream's error code for REST. */
export const errorCode = (answer: Answer) => memberOfError(answer, 'code')
