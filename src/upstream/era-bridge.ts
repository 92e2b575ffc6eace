import { PRODUCT } from '../domain/product.ts'
import { INPUT_REQUIRED, META, TASK } from '../domain/mcp-constants.ts'
import { JsonError, members, valueOf, withMembers } from '../json/json.ts'
import type { MemberChanges, Payload } from '../json/payload.ts'
import type { Answer } from './transport/call.ts'
import type { Era } from './transport/connection.ts'
import { badResponse } from '../protocol/upstream-failure.ts'

const SERVER_INFO = `${META}serverInfo`
const UPSTREAM_INFO = `${PRODUCT}/upstream`

/** Method and eras of an upstream's answer, from which the answer is adapted (mcp-proxy.md#upstream-errors). */
export interface Adaptation {
  readonly method: string
  /** Era of the upstream connection. */
  readonly from: Era
  /** Era of the caller; REST callers count as legacy. */
  readonly to: Era
  readonly server: string
  /** JSON text of the gateway's own `serverInfo`, set on modern results. */
  readonly serverInfo: string
  /** True if the caller accepts a task instead of the result. */
  readonly acceptsTask?: boolean
  /**
   * Members of a modern server's result that are replaced in the same pass, `_meta` among them: a second pass would copy
   * large results.
   */
  readonly replaced?: MemberChanges | undefined
}

const cacheable = new Set(['resources/read', 'skills/get', 'resources/directory/read'])
const isCacheable = (method: string) => cacheable.has(method)

/** Member that a result of each method must have (UP-04). */
const requiredMember: Readonly<Record<string, string>> = {
  'tools/call': 'content',
  'prompts/get': 'messages',
  'resources/read': 'contents',
  'skills/get': 'skill',
  'resources/directory/read': 'resources',
  'tasks/get': 'status'
}

/** Methods whose result may be `input_required` (mcp-proxy.md#modern-wire). */
export const methodsWithInput: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/**
 * Tests for an `input_required` result, which a modern client gets from a modern upstream
 * (mcp-proxy.md#asking-the-client).
 */
const isInputRequired = (resultType: string | undefined, { method, to }: Adaptation) =>
  resultType === `"${INPUT_REQUIRED}"` && to === 'modern' && methodsWithInput.has(method)

const isAcceptedTask = (resultType: string | undefined, { acceptsTask }: Adaptation) =>
  resultType === `"${TASK}"` && acceptsTask === true

function checkResult(result: Payload, resultType: string | undefined, { method }: Adaptation): void {
  if (resultType !== undefined && resultType !== '"complete"') {
    throw badResponse('the upstream answered with an unexpected kind of result')
  }
  const member = requiredMember[method]
  if (member && !result.members.some(({ key }) => key === member)) {
    throw badResponse(`the upstream's result has no "${member}"`)
  }
}

/** Returns a result's `_meta` with the gateway's `serverInfo`; the upstream's moves to a key of the gateway. */
function metaWithServerInfo(meta: string | undefined, { server, serverInfo }: Adaptation): string {
  if (!meta?.startsWith('{')) return `"_meta":{"${SERVER_INFO}":${serverInfo}}`
  const found = members(meta)
  const upstreamInfo = valueOf(meta, found, SERVER_INFO)
  const rest = withMembers(meta, { [SERVER_INFO]: null, [UPSTREAM_INFO]: null }, found).slice(1, -1)
  const moved =
    upstreamInfo === undefined
      ? ''
      : `,"${UPSTREAM_INFO}":{"server":${JSON.stringify(server)},"serverInfo":${upstreamInfo}}`
  return `"_meta":{"${SERVER_INFO}":${serverInfo}${moved}${rest === '' ? '' : `,${rest}`}}`
}

/** Returns `ttlMs` of a modern upstream's result. The legacy era defines no cache hints: the same member is ignored. */
const ttlOf = (ttl: string | undefined, { from }: Adaptation) =>
  from === 'modern' && ttl !== undefined && /^\d{1,15}$/.test(ttl) ? ttl : '0'

const cacheHints = { ttlMs: null, cacheScope: null } as const
const metaOnly: MemberChanges = { _meta: null }
const metaAndType: MemberChanges = { resultType: null, _meta: null }
const metaTypeAndCache: MemberChanges = { ...metaAndType, ...cacheHints }

function toModern(result: Payload, resultType: string | undefined, adaptation: Adaptation): Payload {
  const meta = metaWithServerInfo(result.valueOf('_meta'), adaptation)
  if (!isCacheable(adaptation.method)) {
    // most results of modern upstreams already carry `resultType`
    const { replaced } = adaptation
    if (resultType !== undefined) return result.withChanges(replaced ?? metaOnly, meta)
    if (replaced) return result.withChanges(replaced, `"resultType":"complete",${meta}`)
    return result.withChanges(metaAndType, `"resultType":"complete",${meta}`)
  }
  const cache = `"ttlMs":${ttlOf(result.valueOf('ttlMs'), adaptation)},"cacheScope":"private"`
  return result.withChanges(metaTypeAndCache, `"resultType":"complete",${cache},${meta}`)
}

function toLegacy(result: Payload, { method }: Adaptation): Payload {
  const meta = result.valueOf('_meta')
  const own = meta?.startsWith('{') ? withMembers(meta, { [SERVER_INFO]: null }) : meta
  return result.withChanges(
    {
      resultType: null,
      ...(isCacheable(method) ? cacheHints : {}),
      ...(own === undefined || own === meta ? {} : { _meta: own === '{}' ? null : own })
    },
    ''
  )
}

/** Converts an upstream's result to the caller's era. Throws UpstreamFailure `bad_response`. */
export function adaptResult(result: Payload, adaptation: Adaptation): Payload {
  const { from, to, method } = adaptation
  if (from === 'legacy' && to === 'legacy' && !requiredMember[method]) return result
  return readAnswer(() => {
    const resultType = from === 'modern' ? result.valueOf('resultType') : undefined
    if (isInputRequired(resultType, adaptation) || isAcceptedTask(resultType, adaptation)) {
      return result.withChanges(
        adaptation.replaced ?? metaOnly,
        metaWithServerInfo(result.valueOf('_meta'), adaptation)
      )
    }
    checkResult(result, resultType, adaptation)
    if (to === 'modern') return toModern(result, resultType, adaptation)
    return from === 'legacy' ? result : toLegacy(result, adaptation)
  })
}

const answerError = (error: unknown): unknown =>
  error instanceof JsonError || error instanceof SyntaxError ? badResponse('the upstream sent malformed JSON') : error

/** Runs `work`, which parses part of an upstream's answer. Throws UpstreamFailure `bad_response` on malformed JSON. */
export function readAnswer<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw answerError(error)
  }
}

/** Does the same as `readAnswer` for work in steps. */
export function* readAnswerSteps<T>(steps: Generator<void, T>): Generator<void, T> {
  try {
    return yield* steps
  } catch (error) {
    throw answerError(error)
  }
}

interface ErrorBody {
  code: number
  message: string
}

/**
 * Replacements of upstream error codes that mean something else in the caller's era, or that report a problem between
 * the gateway and the upstream (mcp-proxy.md#upstream-errors).
 */
const translatedCodes: Record<Era, Readonly<Record<number, number>>> = {
  modern: { [-32002]: -32602, [-32020]: -32603, [-32022]: -32603, [-32042]: -32603 },
  legacy: { [-32021]: -32603, [-32020]: -32603, [-32022]: -32603 }
}

/** Codes that are never sent to a modern caller (mcp-proxy.md#modern-wire). */
const isLegacyOnly = (code: number) => code <= -32000 && code >= -32019

const translate = (code: number, to: Era): number =>
  translatedCodes[to][code] ?? (to === 'modern' && isLegacyOnly(code) ? -32603 : code)

const readError = (body: Payload) => JSON.parse(body.toString()) as Partial<ErrorBody> | null

export interface AdaptedError {
  readonly body: Payload
  /** HTTP status of the answer to an MCP client. */
  readonly status: number
}

/** Translates an upstream's error code to the caller's era; message and data pass unchanged. Throws UpstreamFailure. */
export function adaptError(body: Payload, to: Era): AdaptedError {
  const error = readAnswer(() => readError(body))
  if (typeof error?.code !== 'number' || typeof error.message !== 'string') {
    throw badResponse('the upstream sent a malformed error')
  }
  const code = translate(error.code, to)
  const status = to === 'modern' && code === -32021 ? 400 : 200
  return code === error.code ? { body, status } : { body: body.withChanges({ code: String(code) }, ''), status }
}

const memberOfError = ({ body }: Answer, name: 'code' | 'message'): unknown => {
  try {
    return readError(body)?.[name]
  } catch {
    return undefined
  }
}

/** Returns an upstream's error message for REST. */
export function errorMessage(answer: Answer): string {
  const message = memberOfError(answer, 'message')
  return typeof message === 'string' ? message : 'unknown error'
}

/** Returns an upstream's error code for REST. */
export const errorCode = (answer: Answer) => memberOfError(answer, 'code')
