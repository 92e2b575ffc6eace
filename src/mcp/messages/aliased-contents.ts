import { elements, members, type Span, valueOf, withMembers } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'
import { aliasOf, type ResourceTarget } from '../../catalog/scope.ts'
import { toFailure } from '../../upstream/transport/message.ts'

/** Tests if JSON text encodes the string `value`. False for malformed JSON, which passes unchanged. */
function encodesString(json: string, value: string): boolean {
  if (json === JSON.stringify(value)) return true
  try {
    return JSON.parse(json) === value
  } catch {
    return false
  }
}

function elementsOf(text: string, at: number): Span[] {
  try {
    return elements(text, at)
  } catch (error) {
    throw toFailure(error)
  }
}

/**
 * Replaces the original URI in the contents of a `resources/read` result by the alias that the client read. Two servers
 * may offer the same URI, and the client must be able to tell them apart (mcp-proxy.md#resource-uris). `result` is JSON
 * text.
 */
export function aliasedContents(result: Payload, { server, uri }: Pick<ResourceTarget, 'server' | 'uri'>): Payload {
  const text = result.toString()
  const list = members(text).findLast(({ key }) => key === 'contents')
  if (!list || text[list.start] !== '[') return result
  const alias = JSON.stringify(aliasOf(server.name, uri))
  const contents = elementsOf(text, list.start).map(({ start, end }) => {
    const content = text.slice(start, end)
    const own = content.startsWith('{') ? valueOf(content, members(content), 'uri') : undefined
    return own !== undefined && encodesString(own, uri) ? withMembers(content, { uri: alias }) : content
  })
  return Payload.of(withMembers(text, { contents: `[${contents.join(',')}]` }))
}
