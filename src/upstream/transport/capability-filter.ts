import { isObject } from '../../domain/is-object.ts'
import { memoize } from '../../lib/memoize.ts'

/** Members of each client capability that decide which requests of an upstream the client accepts. */
const capabilityMembers: readonly (readonly [name: string, members: readonly string[]])[] = [
  ['sampling', ['context', 'tools']],
  ['elicitation', ['form', 'url']],
  ['roots', []]
]

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
  return JSON.stringify(relevant)
}

/**
 * Returns a function that reduces client capabilities (JSON text) to sampling, elicitation and roots: clients that
 * accept the same upstream requests get the same text. Other capabilities must not multiply sessions.
 */
export const createCapabilityFilter = () => {
  const memo = memoize(filterCapabilities)
  return (capabilities: string): string => (capabilities === '{}' ? capabilities : memo(capabilities))
}
