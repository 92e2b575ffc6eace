import { Type, type Static, type TSchema, type TUnsafe } from '@sinclair/typebox'

/** A plain JSON Schema `enum`: one clear message and one clean line in OpenAPI, unlike a union of literals. */
export const StringEnum = <const T extends readonly string[]>(
  values: T,
  options: { default?: T[number]; description?: string } = {}
) => Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })

/** A `$ref` to a named schema that keeps its static type; OpenAPI then shows the name instead of a copy. */
export const ref = <T extends TSchema>(schema: T) => Type.Unsafe<Static<T>>(Type.Ref(schema.$id!))

/** Text that can be stored: no NUL, no lone surrogates. */
export const Text = (options: { minLength?: number; maxLength?: number; description?: string } = {}) =>
  Type.String({ format: 'text', maxLength: 4_096, ...options })

/** A map from names to texts; the names are held to `maxLength` 1,024. */
export const TextMap = (options: { description?: string; maxLength?: number } = {}) => {
  const { maxLength = 65_536, ...rest } = options
  return Type.Unsafe<Readonly<Record<string, string>>>({
    type: 'object',
    propertyNames: { type: 'string', format: 'text', maxLength: 1_024 },
    additionalProperties: { type: 'string', format: 'text', maxLength },
    maxProperties: 1_000,
    ...rest
  })
}

/** A list of texts. */
export const TextList = (options: { description?: string; maxLength?: number; maxItems?: number } = {}) => {
  const { maxLength = 4_096, maxItems = 1_000, ...rest } = options
  return Type.Unsafe<readonly string[]>({
    type: 'array',
    items: { type: 'string', format: 'text', maxLength },
    maxItems,
    ...rest
  })
}

/** An object that is passed on as it is. */
export const OpenObject = (description?: string) =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    ...(description ? { description } : {})
  })

export const ErrorBody = Type.Object(
  { error: Type.String(), code: Type.Optional(Type.String()) },
  { $id: 'Error', additionalProperties: false }
)

export const meanings = {
  400: 'The input is not valid',
  401: 'No valid access token',
  403: 'The Host or Origin is not allowed, or the gateway is not initialised',
  404: 'It does not exist',
  405: 'The method is not possible here; Allow lists those that are',
  406: 'The Accept header names none of the types that the answer can have',
  408: 'The request took too long to arrive',
  409: 'It conflicts with what exists',
  413: 'The body is too large',
  414: 'The name in the path is too long',
  415: 'The content type is not JSON',
  429: 'Too many requests at once, or with wrong access tokens; see Retry-After',
  431: 'The headers are too large',
  500: 'A fault of the gateway',
  502: 'The upstream failed, or cannot be reached',
  503: 'Stopping, overloaded, or the registry cannot be reached; see Retry-After',
  504: 'The upstream did not answer in time'
} as const
export type Failure = keyof typeof meanings

/** Responses of a route besides its success, by status. */
export const failures = <const S extends readonly Failure[]>(...statuses: S) =>
  Object.fromEntries(statuses.map((status) => [status, { ...ref(ErrorBody), description: meanings[status] }])) as {
    [K in S[number]]: TUnsafe<Static<typeof ErrorBody>>
  }

/** Beside a member of the contract: the name that MCPJungle's own client has for it. */
export const spellingOf = (member: string) => ({ description: `\`${member}\` in MCPJungle's spelling` })

/** Path parameter. What is not a valid name is the name of nothing: 404, not 400. */
export const NameParam = Type.Object({ name: Text({ minLength: 1 }) })

export const ServerQuery = Type.Object({
  server: Type.Optional(Text({ minLength: 1, description: 'Only items of this server' }))
})

export const NameQuery = Type.Object({
  name: Text({ minLength: 1, description: 'Qualified name, `<server>__<item>`' })
})

export const UriQuery = Type.Object({ uri: Text({ minLength: 1, description: 'URI as it is listed' }) })

export const EntityQuery = Type.Object({
  entity: Text({ minLength: 1, description: 'One item, or a server for all its items' })
})

export const Names = Type.Array(Type.String(), {
  description: 'All names that the entity stands for, whether or not their state was the same before'
})
