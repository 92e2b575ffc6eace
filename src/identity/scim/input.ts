import { isObject } from '../../domain/is-object.ts'
import { AppError } from '../../lib/errors.ts'

/** Kinds of invalid requests (RFC 7644 3.12). */
export type ScimType = 'invalidFilter' | 'invalidPath' | 'invalidSyntax' | 'invalidValue' | 'tooMany'

export const invalidScim = (type: ScimType, detail: string): AppError => new AppError(400, detail, { code: type })

export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace'
  readonly path?: string
  readonly value?: unknown
}

const MAX_OPERATIONS = 1_000
const MAX_FILTER = 512
const MAX_LOGICAL_OPERATORS = 10
const extension = /^urn:ietf:params:scim:schemas:extension:/i
const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i
const ops: readonly string[] = ['add', 'remove', 'replace']

/** Entra ID sends truth values as text. */
const toBoolean = (value: unknown): unknown =>
  typeof value === 'string' && /^(?:true|false)$/i.test(value) ? value.toLowerCase() === 'true' : value

/** Returns members without extensions and passwords, which the gateway does not keep. */
export function withoutIgnored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIgnored)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !extension.test(name) && !/^password$/i.test(name))
      .map(([name, member]) => [
        name.replace(coreSchema, ''),
        /^(?:active|primary)$/i.test(name.replace(coreSchema, '')) ? toBoolean(member) : withoutIgnored(member)
      ])
  )
}

/**
 * Throws a 400 AppError for a filter that is long, or has many `and` and `or`: the library writes it out as alternatives,
 * of which there are exponentially many.
 */
export function checkFilter(text: string): void {
  const operators = text.match(/\b(?:and|or)\b/gi) ?? []
  if (text.length <= MAX_FILTER && operators.length <= MAX_LOGICAL_OPERATORS) return
  throw invalidScim(
    'invalidFilter',
    `a filter has at most ${MAX_FILTER} characters and ${MAX_LOGICAL_OPERATORS} operators`
  )
}

/** Returns the operations of a PATCH (RFC 7644 3.5.2) without those on extensions. Throws a 400 AppError. */
export function readOperations(body: unknown): PatchOperation[] {
  const given = isObject(body) ? (body['Operations'] ?? body['operations']) : undefined
  if (!Array.isArray(given) || given.length === 0) throw invalidScim('invalidSyntax', '"Operations" must be a list')
  if (given.length > MAX_OPERATIONS) throw invalidScim('tooMany', `at most ${MAX_OPERATIONS} operations are accepted`)
  return given.flatMap((each: unknown): PatchOperation[] => {
    const op = isObject(each) && typeof each['op'] === 'string' ? each['op'].toLowerCase() : ''
    if (!isObject(each) || !ops.includes(op)) throw invalidScim('invalidSyntax', '"op" must be add, remove or replace')
    const { path, value } = each
    if (path !== undefined && typeof path !== 'string') throw invalidScim('invalidPath', '"path" must be a text')
    const kind = op as PatchOperation['op']
    if (path === undefined) return [{ op: kind, value: withoutIgnored(value) }]
    const own = path.replace(coreSchema, '')
    checkFilter(own)
    if (extension.test(own) || /^password$/i.test(own)) return []
    return [{ op: kind, path: own, value: /^active$/i.test(own) ? toBoolean(value) : withoutIgnored(value) }]
  })
}

/** Throws a 400 AppError unless the value is absent or a text that can be stored and shown. */
export function checkText(name: string, value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value === 'string' && value.length <= 256 && !/[\p{Cc}\p{Surrogate}]/u.test(value)) return value
  throw invalidScim('invalidValue', `"${name}" must be a text of at most 256 characters without control characters`)
}
