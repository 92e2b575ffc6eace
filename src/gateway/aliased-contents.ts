import { elements, members, type Span, valueOf, withMembers } from './json.ts'
import { Payload } from './payload.ts'
import { aliasOf, type ResourceTarget } from './scope.ts'
import { toFailure } from './upstream/http-message.ts'

/** Whether JSON text is that string. What is malformed is not, and passes. */
function isText(json: string, value: string): boolean {
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
 * The answer to an aliased read, the alias in place of the original URI: else two servers' items were one to the client
 * (mcp-proxy.md#resource-uris). `result` is JSON text.
 */
export function aliasedContents(result: Payload, { server, uri }: Pick<ResourceTarget, 'server' | 'uri'>): Payload {
  const text = result.toString()
  const list = members(text).findLast(({ key }) => key === 'contents')
  if (!list || text[list.start] !== '[') return result
  const alias = JSON.stringify(aliasOf(server.name, uri))
  const contents = elementsOf(text, list.start).map(({ start, end }) => {
    const content = text.slice(start, end)
    const own = content.startsWith('{') ? valueOf(content, members(content), 'uri') : undefined
    return own !== undefined && isText(own, uri) ? withMembers(content, { uri: alias }) : content
  })
  return Payload.of(withMembers(text, { contents: `[${contents.join(',')}]` }))
}
