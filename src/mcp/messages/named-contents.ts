import { elements, members, type Span, valueOf, withMembers } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'
import { formatAddress, sentAddressOf } from '../../catalog/resource-uris.ts'
import type { ResourceTarget } from '../../catalog/resource-resolution.ts'
import { toFailure } from '../../upstream/transport/message.ts'

/** Returns the string that JSON text encodes; undefined for other values and malformed JSON, which pass unchanged. */
function readString(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
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
 * Texts of which every address with a scheme that names servers has one: the end of the scheme. A string in JSON can also
 * spell any letter as an escape.
 */
const schemeSpellings = ['i://', 'I://', 'l://', 'L://', 'h:/', 'H:/', 'h:%', 'H:%', '\\']

/**
 * Replaces URIs in the contents of a `resources/read` result by the addresses that clients know: the one that was read
 * by the form that the caller used, and others that could lead to another server by those of this server. Two servers may offer the same URI,
 * and the client must be able to tell them apart (mcp-proxy.md#resource-uris, mcp-proxy.md#apps). `result` is JSON
 * text.
 */
export function namedContents(
  result: Payload,
  { server, uri, form }: Pick<ResourceTarget, 'server' | 'uri' | 'form'>
): Payload {
  if (form === 'own' && !schemeSpellings.some((spelling) => result.includes(spelling))) return result
  const text = result.toString()
  const list = members(text).findLast(({ key }) => key === 'contents')
  if (!list || text[list.start] !== '[') return result
  const addressIn = (own: string): string => {
    if (own === uri) return formatAddress(form, server.name, uri)
    return sentAddressOf(server.name, own)
  }
  let isChanged = false
  const contents = elementsOf(text, list.start).map(({ start, end }) => {
    const content = text.slice(start, end)
    const json = content.startsWith('{') ? valueOf(content, members(content), 'uri') : undefined
    const own = json === undefined ? undefined : readString(json)
    const address = own === undefined ? undefined : addressIn(own)
    if (address === undefined || address === own) return content
    isChanged = true
    return withMembers(content, { uri: JSON.stringify(address) })
  })
  return isChanged ? Payload.of(withMembers(text, { contents: `[${contents.join(',')}]` })) : result
}
