import { INPUT_REQUIRED } from '../../domain/mcp-constants.ts'
import { labelText } from '../../domain/text/quoted.ts'
import { members, stringOf, valueOf, withMembers } from '../../json/json.ts'
import type { Payload } from '../../json/payload.ts'
import type { Scope } from '../../catalog/scope.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'

/** Limit of input requests in one result. */
export const MAX_INPUT_REQUESTS = 100

/**
 * With several servers in scope the user must see which one asks, or one could impersonate another
 * (mcp-proxy.md#sampling-roots-and-elicitation).
 */
export const needsAttribution = ({ servers, isBare }: Scope) => servers.length > 1 && !isBare

/** Member that clients show to the user, by method. */
const displayedMembers: Readonly<Record<string, string>> = {
  'elicitation/create': 'message',
  'sampling/createMessage': 'systemPrompt'
}

/**
 * Returns `params` of a request with the server's name in front of the text shown to the user; both are JSON text. A
 * sampling request without a system prompt gets one, because its messages have no single author to attribute.
 */
export function attributeRequest(method: string, params: string, server: string): string {
  const member = displayedMembers[method]
  if (member === undefined) return params
  const found = members(params)
  const text = stringOf(params, found, member)
  if (text !== undefined) return withMembers(params, { [member]: JSON.stringify(labelText(text, server)) })
  if (member !== 'systemPrompt') return params
  const prompt = JSON.stringify(`[${server}]`)
  if (found.some(({ key }) => key === member)) return withMembers(params, { [member]: prompt })
  return `${params.trimEnd().slice(0, -1)}${found.length === 0 ? '' : ','}"${member}":${prompt}}`
}

function attributeInputRequest(request: string, server: string): string {
  if (!request.startsWith('{')) return request
  const found = members(request)
  const params = valueOf(request, found, 'params')
  const method = stringOf(request, found, 'method')
  if (method === undefined || !params?.startsWith('{')) return request
  return withMembers(request, { params: attributeRequest(method, params, server) })
}

/** Returns true if a modern upstream's result is `input_required`. */
export const isInputRequired = (result: Payload) => result.valueOf('resultType') === `"${INPUT_REQUIRED}"`

/** Adds the server's name to each input request of an `input_required` result; other results pass unchanged. */
export function attributeResult(result: Payload, server: string): Payload {
  const inputRequests = isInputRequired(result) ? attributedInputRequests(result, server) : undefined
  return inputRequests === undefined ? result : result.withChanges({ inputRequests }, '')
}

/**
 * Returns `inputRequests` of a result or task with the server's name in each request, as a latin1 string; undefined if
 * there are none. Throws UpstreamFailure `bad_response` if there are too many.
 */
export function attributedInputRequests(result: Payload, server: string): string | undefined {
  const inputRequests = result.valueOf('inputRequests')
  if (!inputRequests?.startsWith('{')) return undefined
  // texts shown to the user may contain any character
  const text = Buffer.from(inputRequests, 'latin1').toString()
  const found = members(text)
  if (found.length > MAX_INPUT_REQUESTS)
    throw new UpstreamFailure('bad_response', 'the upstream asked for too much input at once')
  const requests = found.map(
    ({ key, start, end }) => [key, attributeInputRequest(text.slice(start, end), server)] as const
  )
  return Buffer.from(withMembers(text, Object.fromEntries(requests))).toString('latin1')
}
