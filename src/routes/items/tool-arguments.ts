import { invalid } from '../../lib/errors.ts'
import { members, type Member } from '../../json/json.ts'

const isObject = (text: string, { start }: Member) => text.charAt(start) === '{'

/**
 * Returns the arguments of `POST /tools/invoke` as JSON text, cut from the body so that every value keeps its exact
 * text, large numbers included. They are the members beside `name`; a single object named `arguments` is unwrapped,
 * unless the tool has a parameter of that name (http-contract.md#tool-invocation). Throws AppError 400.
 */
export function toolArguments(text: string, takesArguments: () => boolean): string {
  const all = members(text)
  const others = all.filter(({ key }) => key !== 'name')
  // a parser would use the last one, which may not be the name that was checked
  if (all.length - others.length > 1) throw invalid('"name" is given more than once')
  const [only] = others
  if (others.length === 1 && only?.key === 'arguments' && isObject(text, only) && !takesArguments()) {
    return text.slice(only.start, only.end)
  }
  return `{${others.map(({ keyStart, end }) => text.slice(keyStart, end)).join(',')}}`
}

/**
 * Returns the arguments from the `arguments` object, for requests with `arguments=object`. Works for every tool, even
 * one with parameters named `name` and `arguments`. Throws AppError 400.
 */
export function wrappedArguments(text: string): string {
  const all = members(text)
  const given = all.filter(({ key }) => key === 'arguments')
  if (all.length - given.length > 1) {
    throw invalid('with "arguments=object" the body must have "name" and "arguments", each once, and nothing else')
  }
  const [only] = given
  if (!only) return '{}'
  if (given.length > 1) throw invalid('"arguments" is given more than once')
  if (!isObject(text, only)) throw invalid('"arguments" must be an object')
  return text.slice(only.start, only.end)
}
