import { hasDuplicateMembers } from '../json/duplicates.ts'
import { hasInexactNumber } from '../json/numbers.ts'
import { createKeyFold, LongKeysError } from './jsonrpc.ts'

function createKeyStartFold(): (key: string) => string {
  const foldKey = createKeyFold()
  // parsers written in C end a key at NUL
  return (key) => foldKey(key.split('\0', 1)[0]!)
}

/** Programs that copy members one by one read the members of this one as those of the object around it. */
export const PROTOTYPE = '__proto__'

function hasPrototype(text: string): boolean {
  // most texts have neither the name nor an escape that could spell it
  if (!text.includes(PROTOTYPE) && !text.includes('\\u')) return false
  let isFound = false
  hasDuplicateMembers(text, (key) => {
    isFound ||= key === PROTOTYPE
    return key
  })
  return isFound
}

/** Returns true if some object in valid JSON text names a member twice for some parser, or its keys are too long to tell. */
export function hasAmbiguousMembers(text: string): boolean {
  try {
    if (hasDuplicateMembers(text, createKeyFold())) return true
    return text.includes('\\u0000') && hasDuplicateMembers(text, createKeyStartFold())
  } catch (error) {
    if (error instanceof LongKeysError) return true
    throw error
  }
}

/** Returns why parsers could read the arguments of a call in two ways; undefined if they could not. */
export function ambiguityOf(args: string): string | undefined {
  if (hasPrototype(args)) return `A member of the arguments is named "${PROTOTYPE}".`
  if (hasAmbiguousMembers(args)) return 'A member of the arguments is given more than once.'
  return hasInexactNumber(args) ? 'A number of the arguments is too large, or has too many digits.' : undefined
}
