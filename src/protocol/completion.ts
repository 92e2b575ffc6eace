import { members, valueOf, type Member } from '../json/json.ts'
import { hasAmbiguousMembers } from './ambiguity.ts'
import { codes, ProtocolError, refuseLookalikes, type Message } from './jsonrpc.ts'

const membersOf = (text: string | undefined): Member[] => (text?.startsWith('{') ? members(text) : [])
const memberText = (text: string | undefined, key: string): string | undefined =>
  text === undefined ? undefined : valueOf(text, membersOf(text), key)

/** Returns true if some parser could take another member for one of these. */
const hasLookalike = (found: readonly Member[], keys: readonly string[]): boolean => {
  const others = found.map(({ key }) => key).filter((key) => !keys.includes(key))
  return hasAmbiguousMembers(`{${[...keys, ...others].map((key) => `${JSON.stringify(key)}:0`).join(',')}}`)
}

const refuse = ({ id }: Message, text: string) => new ProtocolError(codes.invalidParams, text, { status: 200, id })

const identifying: readonly string[] = ['type', 'name', 'uri']

/** Returns the reference of a completion as JSON text. Throws ProtocolError if parsers could find two items in it. */
export function referenceText(message: Message): string {
  const ref = valueOf(message.text, message.paramMembers, 'ref') ?? '{}'
  const found = membersOf(ref)
  refuseLookalikes(found, message.id)
  const keys = found.map(({ key }) => key).filter((key) => identifying.includes(key))
  if (new Set(keys).size < keys.length) throw refuse(message, 'Invalid params: "ref" has a member twice')
  return ref
}

/** Returns the reference that a server gets where policies decide: nothing in it names another item. */
export function strictReference(message: Message, ref: string, key: 'name' | 'uri', value: string): string {
  const other = key === 'name' ? 'uri' : 'name'
  if (membersOf(ref).some((member) => member.key === other))
    throw refuse(message, `Invalid params: a "ref" with "${key}" cannot have "${other}"`)
  return `{"type":${memberText(ref, 'type')},"${key}":${JSON.stringify(value)}}`
}

/**
 * Returns the arguments of a completion as policies see them: JSON text of those that are known, and of the one to
 * complete. Throws ProtocolError if parsers could find other arguments.
 */
export function completionArguments(message: Message): string {
  const { text, paramMembers } = message
  const argument = valueOf(text, paramMembers, 'argument')
  const known = valueOf(text, paramMembers, 'context')
  const isAmbiguous =
    hasLookalike(paramMembers, ['argument', 'context']) ||
    hasLookalike(membersOf(argument), ['name', 'value']) ||
    hasLookalike(membersOf(known), ['arguments']) ||
    [argument, known].some((each) => each !== undefined && hasAmbiguousMembers(each))
  if (isAmbiguous) throw refuse(message, 'Invalid params: a member of the arguments is given more than once')
  const given = memberText(known, 'arguments')
  const inner = given?.startsWith('{') ? given.slice(1, -1).trim() : ''
  const name = memberText(argument, 'name')
  if (name === undefined) return `{${inner}}`
  const own = `${JSON.stringify(String(JSON.parse(name)))}:${memberText(argument, 'value') ?? 'null'}`
  const all = inner === '' ? `{${own}}` : `{${own},${inner}}`
  if (hasAmbiguousMembers(all)) throw refuse(message, 'Invalid params: the argument to complete is already known')
  return all
}
