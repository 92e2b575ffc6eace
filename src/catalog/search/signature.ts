import { isObject } from '../../domain/is-object.ts'
import { truncate } from '../../domain/text/text.ts'

const MAX_SIGNATURE = 400
const MAX_TYPE = 60
const MAX_SENTENCE = 240

/** Replaces line ends and runs of spaces, so that a text stays on its line. */
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

function enumText(values: readonly unknown[]): string {
  let text = ''
  for (const value of values) {
    text += `${text === '' ? '' : '|'}${JSON.stringify(value)}`
    if (text.length > MAX_TYPE) return ''
  }
  return text
}

/** Returns a short form of a JSON Schema: `string`, `number[]`, `"a"|"b"`; `any` if it has no simple one. */
function typeText(schema: unknown): string {
  if (!isObject(schema)) return 'any'
  const { type, items, enum: values } = schema
  const listed = Array.isArray(values) ? enumText(values) : ''
  if (listed !== '') return listed
  if (type === 'array') {
    const each = isObject(items) && typeof items['type'] === 'string' ? items['type'] : 'any'
    return `${each}[]`
  }
  if (typeof type === 'string') return type
  return Array.isArray(type) ? type.filter((each) => typeof each === 'string').join('|') : 'any'
}

/** Returns `name(arg: type, opt?: type)` for a tool, on one line and of limited length. */
export function signatureOf(name: string, inputSchema: unknown): string {
  const { properties, required } = isObject(inputSchema) ? inputSchema : {}
  const needed = new Set<unknown>(Array.isArray(required) ? required : [])
  const parts: string[] = []
  let length = name.length
  for (const [key, schema] of Object.entries(isObject(properties) ? properties : {})) {
    const part = oneLine(
      `${truncate(key, MAX_TYPE)}${needed.has(key) ? '' : '?'}: ${truncate(typeText(schema), MAX_TYPE)}`
    )
    length += part.length + 2
    if (length > MAX_SIGNATURE) {
      parts.push('…')
      break
    }
    parts.push(part)
  }
  return `${oneLine(name)}(${parts.join(', ')})`
}

/** Returns the first sentence of a text, on one line and at most `max` characters long. */
export function firstSentence(text: string, max = MAX_SENTENCE): string {
  // twice the length, because spaces are merged
  const start = text.slice(0, 2 * max + 100).trimStart()
  const paragraph = oneLine(start.split(/\n\s*\n/, 1)[0]!)
  const end = /[.!?](?= [^a-z])|[。！？]/.exec(paragraph)
  return truncate(end ? paragraph.slice(0, end.index + 1) : paragraph, max)
}
