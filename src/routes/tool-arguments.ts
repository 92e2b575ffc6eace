import { invalid } from '../errors.ts'
import { members, type Member } from '../gateway/json.ts'

const isObject = (text: string, { start }: Member) => text.charAt(start) === '{'

/**
 * The arguments of `POST /tools/invoke` as JSON text, cut out of the body's text so that every byte of a value survives
 * (long numbers among them). They are the members beside `name`; a lone object called `arguments` is the arguments itself,
 * unless the tool has a parameter of that name (http-contract.md#tool-record).
 */
export function toolArguments(text: string, takesArguments: () => boolean): string {
  const all = members(text)
  const others = all.filter(({ key }) => key !== 'name')
  // the parser would take the last; what is called must be what was read
  if (all.length - others.length > 1) throw invalid('"name" is given more than once')
  const [only] = others
  if (others.length === 1 && only?.key === 'arguments' && isObject(text, only) && !takesArguments()) {
    return text.slice(only.start, only.end)
  }
  return `{${others.map(({ keyStart, end }) => text.slice(keyStart, end)).join(',')}}`
}

/**
 * The same where the caller says that they are in the object `arguments`: nothing of the tool's schema is taken into
 * account, so that any tool can be called, also one with parameters called `name` and `arguments`.
 */
export function wrappedArguments(text: string): string {
  const all = members(text)
  const given = all.filter(({ key }) => key === 'arguments')
  if (all.length - given.length > 1) {
    throw invalid('with "arguments=object" the body holds "name" and "arguments", each once, and nothing else')
  }
  const [only] = given
  if (!only) return '{}'
  if (given.length > 1) throw invalid('"arguments" is given more than once')
  if (!isObject(text, only)) throw invalid('"arguments" must be an object')
  return text.slice(only.start, only.end)
}
