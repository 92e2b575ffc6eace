import SCIMMY from 'scimmy'
import { isObject } from '../../domain/is-object.ts'
import { AppError } from '../../lib/errors.ts'
import { checkFilter, invalidScim, type PatchOperation, type ScimType } from './input.ts'

/** Resource as JSON. */
export type Resource = Readonly<Record<string, unknown>>
type Kind = 'User' | 'Group'

const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
/** The library needs a time that grows with the values of an attribute. */
const MAX_VALUES = 20
const MAX_OPERATIONS = 50

export const schemaOf = (kind: Kind): string => SCIMMY.Schemas[kind].definition.id

/** Returns a failure of the library, which is one of the input, as a 400 AppError. */
function toAppError(error: unknown, otherwise: ScimType): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error
  const { scimType } = error as { scimType?: ScimType }
  if (scimType !== undefined || error instanceof TypeError || error instanceof RangeError) {
    return invalidScim(scimType ?? otherwise, error.message)
  }
  return error
}

function checkValues(resource: object): void {
  for (const [name, value] of Object.entries(resource)) {
    if (Array.isArray(value) && value.length > MAX_VALUES) {
      throw invalidScim('tooMany', `"${name}" can have at most ${MAX_VALUES} values`)
    }
  }
}

const plain = (resource: object): Resource => JSON.parse(JSON.stringify(resource)) as Resource

/** Returns the attributes of a schema that a client has written, in their types. Throws a 400 AppError. */
export function readResource(kind: Kind, body: unknown): Resource {
  if (!isObject(body)) throw invalidScim('invalidSyntax', 'the body must be an object')
  checkValues(body)
  try {
    return plain(new SCIMMY.Schemas[kind](body as never, 'in'))
  } catch (error) {
    throw toAppError(error, 'invalidValue')
  }
}

/** Writes a value into an element that does not exist yet, as Entra ID expects. */
function withElement(resource: Resource, operation: PatchOperation): PatchOperation {
  const { op, path = '', value } = operation
  const [, attribute, type, member] = /^(\w+)\[type eq "([^"\\]{1,64})"\]\.(\w+)$/i.exec(path) ?? []
  if (op === 'remove' || attribute === undefined) return operation
  const known = resource[attribute]
  const isThere = Array.isArray(known) && known.some((each) => isObject(each) && each['type'] === type)
  return isThere ? operation : { op: 'add', path: attribute, value: [{ type, [member!]: value }] }
}

/** Applies operations to a resource, in order. Throws a 400 AppError. */
export async function patchResource(
  kind: Kind,
  resource: Resource,
  operations: readonly PatchOperation[]
): Promise<Resource> {
  if (operations.length > MAX_OPERATIONS)
    throw invalidScim('tooMany', `at most ${MAX_OPERATIONS} operations are accepted`)
  let current = resource
  try {
    for (const operation of operations) {
      const message = { schemas: [PATCH], Operations: [withElement(current, operation)] }
      const before = new SCIMMY.Schemas[kind](current as never, 'out')
      // resolves with nothing if nothing differs
      const changed = await new SCIMMY.Messages.PatchOp(message as never).apply(before as never, (after) => after)
      if (changed) current = plain(changed as object)
      checkValues(current)
    }
  } catch (error) {
    throw toAppError(error, 'invalidValue')
  }
  return current
}

/** Filter of which the database decides a part. */
export interface ScimFilter<Column extends string> {
  /** Values that attributes with a column must have. */
  readonly equal: Partial<Record<Column, string>>
  /** Returns the resources that match the rest; undefined if there is none. */
  readonly match: ((resources: readonly Resource[]) => Resource[]) | undefined
}

/** Parses a filter (RFC 7644 3.4.2.2). `columns`: by attribute in lower case. Throws a 400 AppError. */
export function readFilter<Column extends string>(
  text: string | undefined,
  columns: Readonly<Record<string, Column>>
): ScimFilter<Column> {
  if (text === undefined) return { equal: {}, match: undefined }
  checkFilter(text)
  try {
    // copies, since those of the library cannot be changed
    const alternatives = [...new SCIMMY.Types.Filter(text)].map((each): Record<string, unknown> => ({ ...each }))
    const equal: Partial<Record<Column, string>> = {}
    for (const expressions of alternatives) {
      for (const [name, expression] of Object.entries(expressions)) {
        const isEqual = Array.isArray(expression) && expression[0] === 'eq' && typeof expression[1] === 'string'
        const column = columns[name.toLowerCase()]
        if (isEqual && column !== undefined && alternatives.length === 1) {
          equal[column] = expression[1] as string
          delete expressions[name]
        } else if (Array.isArray(expression) && /^(?:members|emails)$/i.test(name)) {
          // a comparison with the attribute itself is one with its values
          expressions[name] = { value: expression }
        }
      }
    }
    const rest = alternatives.filter((expressions) => Object.keys(expressions).length > 0)
    if (rest.length === 0) return { equal, match: undefined }
    const filter = new SCIMMY.Types.Filter(rest as never)
    const match = (resources: readonly Resource[]) => {
      try {
        return filter.match(resources as never) as Resource[]
      } catch (error) {
        throw toAppError(error, 'invalidFilter')
      }
    }
    return { equal, match }
  } catch (error) {
    throw toAppError(error, 'invalidFilter')
  }
}

/** Returns the description of a schema (RFC 7643 7). */
export const describeSchema = (kind: Kind, basePath: string): Resource => {
  const described = plain(SCIMMY.Schemas[kind].definition.describe(basePath))
  const attributes = described['attributes'] as readonly { readonly name: string }[]
  return { ...described, attributes: attributes.filter(({ name }) => name !== 'password') }
}
