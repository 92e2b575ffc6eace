import { isObject } from '../../domain/is-object.ts'
import { INPUT_REQUIRED, META } from '../../domain/mcp-constants.ts'
import { labelText } from '../../domain/text/quoted.ts'
import { Payload } from '../../json/payload.ts'
import type { Answer } from '../../upstream/transport/call.ts'
import { canRequest } from '../messages/capabilities.ts'
import type { RequestContext, Implementation } from '../sessions/request-context.ts'
import { codes } from '../../protocol/jsonrpc.ts'
import { needsAttribution } from '../messages/server-attribution.ts'

/**
 * Error of a legacy upstream that requires the user to open a URL first; the modern era has no such error
 * (mcp-proxy.md#url-elicitation-required).
 */
const URL_ELICITATION_REQUIRED = -32042

/** Limit of URLs read from one error. */
const MAX_PAGES = 100

/** Parses a URL elicitation error, up to the limit of URLs; undefined for any other answer. */
function readUrlElicitationError({ kind, body }: Answer) {
  if (kind !== 'error' || !body.includes(String(URL_ELICITATION_REQUIRED))) return undefined
  const error: unknown = JSON.parse(body.toString())
  if (!isObject(error) || error['code'] !== URL_ELICITATION_REQUIRED || !isObject(error['data'])) return undefined
  const { data } = error
  const elicitations = Array.isArray(data['elicitations']) ? data['elicitations'].slice(0, MAX_PAGES) : []
  return { error, data, elicitations }
}

/** Returns the elicitations of the error; undefined if there are none, and the error is then forwarded unchanged. */
export function readElicitations(answer: Answer): Record<string, unknown>[] | undefined {
  const elicitations = readUrlElicitationError(answer)?.elicitations.filter(isObject) ?? []
  return elicitations.length > 0 ? elicitations : undefined
}

const attributeElicitation = (params: Record<string, unknown>, server: string) =>
  typeof params['message'] === 'string' ? { ...params, message: labelText(params['message'], server) } : params

/**
 * Returns the error with the server's name in front of each message shown to the user; unchanged if it has no
 * elicitation.
 */
export function attributeUrlElicitations(answer: Answer, server: string): Payload {
  const required = readUrlElicitationError(answer)
  if (!required?.elicitations.some(isObject)) return answer.body
  const { error, data } = required
  const elicitations = required.elicitations.map((each) => (isObject(each) ? attributeElicitation(each, server) : each))
  return Payload.of(JSON.stringify({ ...error, data: { ...data, elicitations } }))
}

/**
 * Answers a modern caller with `input_required` if the legacy upstream requires a URL elicitation. There is no
 * `requestState`, because the upstream did not run the request and the client simply repeats it. Returns false for any
 * other answer.
 */
export function answerUrlElicitation(
  context: RequestContext,
  server: string,
  answer: Answer,
  identity: Implementation
): boolean {
  const { reply, message, capabilities, scope } = context
  const elicitations = readElicitations(answer)
  if (!elicitations) return false
  if (!canRequest(capabilities, 'elicitation/create', '{"mode":"url"}')) {
    const data = { requiredCapabilities: { elicitation: { url: {} } } }
    reply.sendError(message.id, codes.missingCapability, 'Missing capability: elicitation.url', { status: 400, data })
    return true
  }
  const requests = elicitations.map((params, i) => [
    `input-${i + 1}`,
    { method: 'elicitation/create', params: needsAttribution(scope) ? attributeElicitation(params, server) : params }
  ])
  const result = {
    resultType: INPUT_REQUIRED,
    inputRequests: Object.fromEntries(requests),
    _meta: { [`${META}serverInfo`]: identity }
  }
  reply.sendResult(message.id, Buffer.from(JSON.stringify(result)))
  return true
}
