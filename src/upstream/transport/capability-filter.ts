import { isObject } from '../../domain/is-object.ts'
import { APP_MIME_TYPE, UI_EXTENSION } from '../../domain/mcp-constants.ts'
import { memoize } from '../../lib/memoize.ts'

/** Members of each client capability that decide which requests of an upstream the client accepts. */
const capabilityMembers: readonly (readonly [name: string, members: readonly string[]])[] = [
  ['sampling', ['context', 'tools']],
  ['elicitation', ['form', 'url']],
  ['roots', []]
]

const showsApps = ({ extensions }: Record<string, unknown>) => {
  const ui = isObject(extensions) ? extensions[UI_EXTENSION] : undefined
  return isObject(ui) && Array.isArray(ui['mimeTypes']) && ui['mimeTypes'].includes(APP_MIME_TYPE)
}

function filterCapabilities(text: string): string {
  const declared: unknown = JSON.parse(text)
  if (!isObject(declared)) return '{}'
  const relevant: Record<string, unknown> = {}
  for (const [name, members] of capabilityMembers) {
    const capability = declared[name]
    if (!isObject(capability)) continue
    relevant[name] = Object.fromEntries(
      members.filter((member) => isObject(capability[member])).map((member) => [member, {}])
    )
  }
  if (isObject(declared['roots']) && declared['roots']['listChanged'] === true)
    relevant['roots'] = { listChanged: true }
  if (showsApps(declared)) relevant['extensions'] = { [UI_EXTENSION]: { mimeTypes: [APP_MIME_TYPE] } }
  return JSON.stringify(relevant)
}

/**
 * Returns a function that reduces client capabilities (JSON text) to sampling, elicitation, roots and the interfaces of
 * MCP Apps: clients that accept the same upstream requests and get the same tools get the same text. Other capabilities
 * must not multiply sessions.
 */
export const createCapabilityFilter = () => {
  const memo = memoize(filterCapabilities)
  return (capabilities: string): string => (capabilities === '{}' ? capabilities : memo(capabilities))
}

/** Returns true if clients with these capabilities (JSON text) can answer requests of an upstream. */
export const acceptsRequests = (capabilities: string): boolean => /"(sampling|elicitation|roots)"/.test(capabilities)
