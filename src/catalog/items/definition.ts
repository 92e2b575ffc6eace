import { escapeText } from '../../domain/text/text.ts'
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../json/characters.ts'
import {
  checkJson,
  JsonError,
  MAX_DEPTH,
  MAX_MEMBERS,
  readKey,
  skipSpace,
  skipString,
  type JsonLimits
} from '../../json/json.ts'
import { complete } from '../../lib/time-slice.ts'
import type { Problem } from './left-out.ts'

const strict: JsonLimits = { depth: MAX_DEPTH, elements: MAX_MEMBERS, checksStrings: true }

const malformed = (reason: string): Problem => ({ code: 'malformed', reason })

function jsonProblem(text: string): Problem | undefined {
  try {
    checkJson(text, strict)
    return undefined
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (error.problem === 'elements') {
      return { code: 'too_large', reason: `it has more than ${MAX_MEMBERS} members and elements` }
    }
    if (error.problem !== 'depth') return malformed(`it is ${error.message}`)
    return { code: 'too_deep', reason: `it is nested deeper than ${MAX_DEPTH} levels` }
  }
}

/** Keys that are compared in one step of `repeatedMember`: some milliseconds. */
const KEYS_PER_STEP = 4_096

/** Returns the first key that occurs twice in one object, at any depth. The text must be valid JSON. */
function* repeatedMember(text: string): Generator<void, string | undefined> {
  const open: (Set<string> | null)[] = []
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === OPEN_OBJECT) open.push(new Set())
    else if (code === OPEN_ARRAY) open.push(null)
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) open.pop()
    if (code !== QUOTE) continue
    const end = skipString(text, i)
    const keys = open.at(-1)
    if (keys && text.charCodeAt(skipSpace(text, end)) === COLON) {
      const key = readKey(text, i, end)
      if (keys.size === keys.add(key).size) return key
      if (++count % KEYS_PER_STEP === 0) yield
    }
    i = end - 1
  }
  return undefined
}

/**
 * Returns the problem of a definition that must not be sent to clients, if any. Duplicate keys are a problem because
 * parsers disagree on which value wins: clients must read the same definition that the gateway checked.
 */
export const definitionProblem = (text: string): Problem | undefined => complete(definitionProblemInSteps(text))

/** Does the same as `definitionProblem`, in steps of some milliseconds for the largest definitions. */
export function* definitionProblemInSteps(text: string): Generator<void, Problem | undefined> {
  if (text.charCodeAt(0) !== OPEN_OBJECT) return malformed('it is not a JSON object')
  const problem = jsonProblem(text)
  if (problem !== undefined) return problem
  yield
  const repeated = yield* repeatedMember(text)
  return repeated === undefined ? undefined : malformed(`it repeats the member "${escapeText(repeated, 40)}"`)
}

export const notUtf8 = malformed('it is not valid UTF-8')
