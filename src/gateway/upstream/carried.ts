import { isObject } from '../../domain/is-object.ts'
import { memoize } from '../memo.ts'

/** Parts of each capability that decide which requests of an upstream a client takes. */
const parts: readonly (readonly [name: string, members: readonly string[]])[] = [
  ['sampling', ['context', 'tools']],
  ['elicitation', ['form', 'url']],
  ['roots', []]
]

function read(text: string): string {
  const given: unknown = JSON.parse(text)
  if (!isObject(given)) return '{}'
  const kept: Record<string, unknown> = {}
  for (const [name, members] of parts) {
    const capability = given[name]
    if (!isObject(capability)) continue
    kept[name] = Object.fromEntries(
      members.filter((member) => isObject(capability[member])).map((member) => [member, {}])
    )
  }
  if (isObject(given['roots']) && given['roots']['listChanged'] === true) kept['roots'] = { listChanged: true }
  return JSON.stringify(kept)
}

/**
 * The capabilities that requests of an upstream depend on (sampling, elicitation, roots), as JSON text: one text for all
 * clients that take the same requests. Anything else that a client declares must not decide how many sessions it has.
 */
export const createCarried = () => {
  const memo = memoize(read)
  return (capabilities: string): string => (capabilities === '{}' ? capabilities : memo(capabilities))
}
