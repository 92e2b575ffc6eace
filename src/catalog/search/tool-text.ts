import { isObject } from '../../domain/is-object.ts'
import { maxParameters } from '../../domain/search/block.ts'
import { signatureOf } from './signature.ts'

/** Depth to which schemas are read */
const MAX_DEPTH = 6

/** Parts of a tool's definition that search reads and shows. */
export interface ReadTool {
  readonly name: string
  readonly description: string
  /** Title and description */
  readonly text: string
  /** Names, descriptions and values of its parameters */
  readonly parameters: string
  readonly signature: string
  /** Value of `annotations.readOnlyHint` */
  readonly isReadOnly: boolean
}

const stringIn = (value: unknown) => (typeof value === 'string' ? value : '')

/** Collects the words of a JSON Schema, up to a length and depth. */
class SchemaText {
  text = ''

  #add(words: string): void {
    if (words !== '') this.text += `${words.slice(0, maxParameters)} `
  }

  read(schema: unknown, depth = 0): void {
    if (!isObject(schema) || depth > MAX_DEPTH || this.text.length > maxParameters) return
    const { properties, items, enum: values, description, oneOf, anyOf, allOf } = schema
    if (depth > 0) this.#add(stringIn(description))
    for (const value of Array.isArray(values) ? values : []) {
      if (this.text.length > maxParameters) return
      this.#add(stringIn(value))
    }
    for (const [key, property] of Object.entries(isObject(properties) ? properties : {})) {
      if (this.text.length > maxParameters) return
      this.#add(key)
      this.read(property, depth + 1)
    }
    for (const part of [items, ...[oneOf, anyOf, allOf].flatMap((each) => (Array.isArray(each) ? each : []))]) {
      this.read(part, depth + 1)
    }
  }
}

/** Reads a tool's definition as an endpoint lists it. `definition` must be a JSON object with a name. */
export function readTool(definition: string): ReadTool {
  const { name, title, description, inputSchema, annotations } = JSON.parse(definition) as Record<string, unknown>
  const schema = new SchemaText()
  schema.read(inputSchema)
  const hints = isObject(annotations) ? annotations : {}
  const about = stringIn(description)
  return {
    name: stringIn(name),
    description: about,
    text: `${stringIn(title) || stringIn(hints['title'])} ${about}`,
    parameters: schema.text,
    // most tools are indexed and not shown
    get signature() {
      return signatureOf(stringIn(name), inputSchema)
    },
    isReadOnly: hints['readOnlyHint'] === true
  }
}
