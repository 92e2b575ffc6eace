import type { AuditLine } from './audit-line.ts'

/** Longest text of one value; audit entries may name hundreds of tools. */
const MAX_VALUE = 120
const MAX_NAMED = 5

const cut = (text: string): string => (text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text)

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !isList(value)

const wordOf = (value: unknown): string => {
  if (value === '***') return 'a secret'
  return cut(typeof value === 'string' ? value : JSON.stringify(value))
}

/** Names of members as words: `allowed_servers` is "allowed servers". */
const nameOf = (member: string): string => member.replaceAll('_', ' ')

function listed(sign: '+' | '−', names: readonly string[]): string[] {
  if (names.length === 0) return []
  const more = names.length - MAX_NAMED
  return [`${sign} ${names.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`]
}

/** Returns the additions and removals of a list: "+ github − files". */
function listChange(before: readonly unknown[], after: readonly unknown[]): string {
  const [was, is] = [before.map(wordOf), after.map(wordOf)]
  const added = is.filter((each) => !was.includes(each))
  const removed = was.filter((each) => !is.includes(each))
  const parts = [...listed('+', added), ...listed('−', removed)]
  return parts.length > 0 ? parts.join(' ') : 'in another order'
}

/** Returns which members an object gained, lost or changed; the values may be secrets, and are not named. */
function objectChange(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string {
  const added = Object.keys(after).filter((key) => !Object.hasOwn(before, key))
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  const changed = Object.keys(after).filter((key) => Object.hasOwn(before, key))
  const parts = [
    ...listed('+', added.map(cut)),
    ...listed('−', removed.map(cut)),
    ...changed.slice(0, MAX_NAMED).map((key) => `${cut(key)} ${valueChange(before[key], after[key])}`),
    ...(changed.length > MAX_NAMED ? [`and ${changed.length - MAX_NAMED} more`] : [])
  ]
  return parts.join(', ')
}

const isNothing = (value: unknown): value is undefined | null => value === undefined || value === null

function valueChange(before: unknown, after: unknown): string {
  if (isList(before) || isList(after)) return listChange(isList(before) ? before : [], isList(after) ? after : [])
  if (isObject(before) || isObject(after))
    return objectChange(isObject(before) ? before : {}, isObject(after) ? after : {})
  if (typeof after === 'boolean') return after ? 'on' : 'off'
  if (before === '***' || after === '***') return isNothing(after) ? 'removed' : isNothing(before) ? 'set' : 'changed'
  if (isNothing(after)) return 'removed'
  return isNothing(before) ? wordOf(after) : `${wordOf(before)} → ${wordOf(after)}`
}

/** True for values that say the same as no value: a new thing names its empty lists and objects too. */
const isEmpty = (value: unknown): boolean =>
  isNothing(value) || ((isList(value) || isObject(value)) && Object.keys(value).length === 0)

type Change = Pick<AuditLine, 'changed' | 'before' | 'after'>

/** Returns a change in words, one text for each changed member: "allowed servers: + github". */
export const changeText = ({ changed = [], before = {}, after = {} }: Change): string[] =>
  changed.flatMap((member) => {
    const [was, is] = [before[member], after[member]]
    if (isNothing(was) && isNothing(is)) return [`${nameOf(member)}: changed`]
    return isEmpty(was) && isEmpty(is) ? [] : [`${nameOf(member)}: ${valueChange(was, is)}`]
  })
