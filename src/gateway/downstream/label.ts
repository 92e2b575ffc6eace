import { members, valueOf, withMembers } from '../json.ts'
import type { Scope } from '../scope.ts'

/** Among several servers a person must see which one asks, or one could pass for another (proxy page 3.16). */
export const needsLabel = ({ servers, isBare }: Scope) => servers.length > 1 && !isBare

/** `params` of a question with the server's name before what a person reads. Both are JSON text. */
export function labelled(method: string, params: string, server: string): string {
  if (method !== 'elicitation/create') return params
  const text: unknown = JSON.parse(valueOf(params, members(params), 'message') ?? 'null')
  return typeof text === 'string' ? withMembers(params, { message: JSON.stringify(`[${server}] ${text}`) }) : params
}

function labelledRequest(request: string, server: string): string {
  if (!request.startsWith('{')) return request
  const found = members(request)
  const params = valueOf(request, found, 'params')
  const method: unknown = JSON.parse(valueOf(request, found, 'method') ?? 'null')
  if (typeof method !== 'string' || !params?.startsWith('{')) return request
  return withMembers(request, { params: labelled(method, params, server) })
}

/** A result of a modern upstream; where it asks for input each question is labelled. The rest passes as it is. */
export function labelledResult(result: Buffer, server: string): Buffer {
  if (!result.includes('"input_required"')) return result
  const text = result.toString()
  const found = members(text)
  const asked = valueOf(text, found, 'inputRequests')
  if (valueOf(text, found, 'resultType') !== '"input_required"' || !asked?.startsWith('{')) return result
  const requests = members(asked).map(
    ({ key, start, end }) => [key, labelledRequest(asked.slice(start, end), server)] as const
  )
  return Buffer.from(withMembers(text, { inputRequests: withMembers(asked, Object.fromEntries(requests)) }))
}
