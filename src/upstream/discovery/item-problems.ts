import { isUtf8 } from 'node:buffer'
import type { ItemKind } from '../../registry/model/model.ts'
import { definitionProblemInSteps, notUtf8 } from '../../catalog/items/definition.ts'
import type { Member } from '../../json/json.ts'
import type { Problem } from '../../catalog/items/left-out.ts'

const MAX_NAME_BYTES = 256
/** Largest value of an index row in the registry. */
const MAX_URI_BYTES = 2_048
const MAX_DESCRIPTION_BYTES = 65_536
const MAX_SCHEMA_BYTES = 262_144
const MAX_DEFINITION_BYTES = 1_048_576

const tooLarge = (what: string, max: number): Problem => ({
  code: 'too_large',
  reason: `${what} is larger than ${max} bytes`
})

const hasUri = (kind: ItemKind) => kind === 'resource' || kind === 'template' || kind === 'skill'

/** Returns the word for an item's name in messages. */
const nameWord = (kind: ItemKind) => (hasUri(kind) ? 'URI' : 'name')

/**
 * Returns the limit that an item exceeds, undefined if none: checked before its text, which takes long for large items.
 * `found`: members of its definition as bytes, which may be invalid JSON.
 */
export function limitProblem(name: string, found: readonly Member[], kind: ItemKind): Problem | undefined {
  const sizeOf = (key: string) => {
    const member = found.findLast((each) => each.key === key)
    return member ? member.end - member.start : 0
  }
  const maxName = hasUri(kind) ? MAX_URI_BYTES : MAX_NAME_BYTES
  if (Buffer.byteLength(name) > maxName) {
    return { code: 'name_too_long', reason: `its ${nameWord(kind)} is longer than ${maxName} bytes` }
  }
  if (sizeOf('description') > MAX_DESCRIPTION_BYTES) {
    return tooLarge('its description', MAX_DESCRIPTION_BYTES)
  }
  for (const schema of ['inputSchema', 'outputSchema']) {
    if (sizeOf(schema) > MAX_SCHEMA_BYTES) {
      return tooLarge(`its ${schema}`, MAX_SCHEMA_BYTES)
    }
  }
  return undefined
}

/** Returns the problem of an item that is too large to be read at all; undefined if it is not. */
export const sizeProblem = (bytes: number): Problem | undefined =>
  bytes > MAX_DEFINITION_BYTES ? tooLarge('it', MAX_DEFINITION_BYTES) : undefined

/**
 * Returns the reason why the text of an item cannot be used, whatever its content; undefined if it is an object in
 * valid JSON. In steps of some milliseconds.
 */
export function* textProblem(bytes: Buffer, definition: string): Generator<void, Problem | undefined> {
  return isUtf8(bytes) ? yield* definitionProblemInSteps(definition) : notUtf8
}

/** Problem of the second of two items with the same name. */
export const duplicateProblem = (kind: ItemKind): Problem => ({
  code: 'listed_twice',
  reason: `its ${nameWord(kind)} is listed twice`
})
