import { INPUT_REQUIRED } from '../../domain/protocol.ts'
import { labelText } from '../../domain/quoted.ts'
import { members, stringOf, valueOf, withMembers } from '../json.ts'
import type { Payload } from '../payload.ts'
import type { Scope } from '../scope.ts'
import { UpstreamFailure } from '../upstream/failure.ts'

/** Questions of one result. */
export const MAX_INPUT_REQUESTS = 100

/**
 * Among several servers a person must see which one asks, or one could pass for another
 * (mcp-proxy.md#sampling-roots-and-elicitation).
 */
export const needsAttribution = ({ servers, isBare }: Scope) => servers.length > 1 && !isBare

/** The member that a client shows to the person who decides. */
const displayedMembers: Readonly<Record<string, string>> = {
  'elicitation/create': 'message',
  'sampling/createMessage': 'systemPrompt'
}

/**
 * `params` of a question with the server's name before what a person reads. Both are JSON text. A sampling request gets a
 * system prompt where it has none: nothing else of it is text of one author.
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

/** Whether the result of a modern upstream is questions to the caller. */
export const isInputRequired = (result: Payload) => result.valueOf('resultType') === `"${INPUT_REQUIRED}"`

/** A result of a modern upstream; where it asks for input each question is labelled. The rest passes as it is. */
export function attributeResult(result: Payload, server: string): Payload {
  if (!isInputRequired(result)) return result
  const asked = result.valueOf('inputRequests')
  if (!asked?.startsWith('{')) return result
  // what a person reads may be any text
  const text = Buffer.from(asked, 'latin1').toString()
  const found = members(text)
  if (found.length > MAX_INPUT_REQUESTS)
    throw new UpstreamFailure('bad_response', 'the upstream asked for too much input at a time')
  const requests = found.map(
    ({ key, start, end }) => [key, attributeInputRequest(text.slice(start, end), server)] as const
  )
  const labels = withMembers(text, Object.fromEntries(requests))
  return result.changed({ inputRequests: Buffer.from(labels).toString('latin1') }, '')
}
