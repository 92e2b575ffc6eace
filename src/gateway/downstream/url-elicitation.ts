import { isObject } from '../../domain/is-object.ts'
import { INPUT_REQUIRED, META } from '../../domain/protocol.ts'
import { labelText } from '../../domain/quoted.ts'
import { Payload } from '../payload.ts'
import type { Answer } from '../upstream/call.ts'
import { canRequest } from './capabilities.ts'
import type { RequestContext } from './exchange.ts'
import { codes } from './jsonrpc.ts'
import { needsAttribution } from './label.ts'

/**
 * A legacy upstream wants the user to visit a page first; the modern era has no such error
 * (mcp-proxy.md#url-elicitation-required).
 */
const URL_ELICITATION_REQUIRED = -32042

/** Pages that one error may name, more than a person would visit for one call. */
const MAX_PAGES = 100

/** An error that names pages to visit, no more than may be. */
function readUrlElicitationError({ kind, body }: Answer) {
  if (kind !== 'error' || !body.includes(String(URL_ELICITATION_REQUIRED))) return undefined
  const error: unknown = JSON.parse(body.toString())
  if (!isObject(error) || error['code'] !== URL_ELICITATION_REQUIRED || !isObject(error['data'])) return undefined
  const { data } = error
  const elicitations = Array.isArray(data['elicitations']) ? data['elicitations'].slice(0, MAX_PAGES) : []
  return { error, data, elicitations }
}

/** The first hundred; undefined where there is none: an error that names no page to visit is an error. */
export function readElicitations(answer: Answer): Record<string, unknown>[] | undefined {
  const asked = readUrlElicitationError(answer)?.elicitations.filter(isObject) ?? []
  return asked.length > 0 ? asked : undefined
}

const attributeElicitation = (params: Record<string, unknown>, server: string) =>
  typeof params['message'] === 'string' ? { ...params, message: labelText(params['message'], server) } : params

/**
 * The error with the server's name before each question that a person reads, the first hundred; as it is where it names no
 * page to visit.
 */
export function attributeUrlElicitations(answer: Answer, server: string): Payload {
  const required = readUrlElicitationError(answer)
  if (!required?.elicitations.some(isObject)) return answer.body
  const { error, data } = required
  const elicitations = required.elicitations.map((each) => (isObject(each) ? attributeElicitation(each, server) : each))
  return Payload.of(JSON.stringify({ ...error, data: { ...data, elicitations } }))
}

/**
 * Answers a modern caller whose legacy upstream asks for a visit: as input that is required, without a state, because the
 * request was not taken and is simply sent again. False where the answer is something else.
 */
export function answerUrlElicitation(context: RequestContext, server: string, answer: Answer): boolean {
  const { reply, message, capabilities, mcp, scope } = context
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
    _meta: { [`${META}serverInfo`]: mcp.identity }
  }
  reply.sendResult(message.id, Buffer.from(JSON.stringify(result)))
  return true
}
