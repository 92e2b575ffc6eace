import { memberSteps, skipSpaceBytes, skipValueSteps, endOfMembers } from '../../json/bytes.ts'
import { CLOSE_ARRAY, COMMA, OPEN_ARRAY, OPEN_OBJECT } from '../../json/characters.ts'
import { defaultLimits, type Member, syntaxError } from '../../json/json.ts'

/** Limit of content blocks that are read in a result: each takes about a microsecond of blocking time. */
const MAX_BLOCKS = 10_000

/** Reads the members of a content block, or of a prompt's message, in steps. */
export type ReadBlock = (block: readonly Member[]) => Generator<void, void>

/** Reads one element of `content` or `messages`. Returns the offset after it. */
function* readElement(bytes: Buffer, at: number, isMessage: boolean, read: ReadBlock): Generator<void, number> {
  if (bytes[at] !== OPEN_OBJECT) return yield* skipValueSteps(bytes, at, defaultLimits)
  const own = yield* memberSteps(bytes, at)
  yield* read(own)
  if (isMessage)
    for (const { key, start } of own)
      if (key === 'content' && bytes[start] === OPEN_OBJECT) yield* read(yield* memberSteps(bytes, start))
  return endOfMembers(bytes, at, own)
}

/**
 * Reads the content blocks of a tool's result, or the messages of a prompt and their content, in steps. `found`: the
 * members of the result, which is valid JSON. Returns the offset of the first element beyond the limit; undefined if
 * all were read. Throws JsonError.
 */
export function* readBlocks(
  bytes: Buffer,
  found: readonly Member[],
  read: ReadBlock
): Generator<void, number | undefined> {
  let left = MAX_BLOCKS
  for (const { key, start } of found) {
    if ((key !== 'content' && key !== 'messages') || bytes[start] !== OPEN_ARRAY) continue
    let at = skipSpaceBytes(bytes, start + 1)
    while (bytes[at] !== CLOSE_ARRAY) {
      if (left-- === 0) return at
      at = skipSpaceBytes(bytes, yield* readElement(bytes, at, key === 'messages', read))
      if (bytes[at] === COMMA) at = skipSpaceBytes(bytes, at + 1)
      else if (bytes[at] !== CLOSE_ARRAY) throw syntaxError(at)
      yield
    }
  }
  return undefined
}
