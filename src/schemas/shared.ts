import { Type, type Static, type TSchema, type TUnsafe } from '@sinclair/typebox'

/** Creates a JSON Schema `enum`: one error message and one line in OpenAPI, unlike a union of literals. */
export const StringEnum = <const T extends readonly string[]>(
  values: T,
  options: { default?: T[number]; description?: string } = {}
) => Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })

/** Creates a `$ref` to a named schema and keeps its static type. */
export const ref = <T extends TSchema>(schema: T) => Type.Unsafe<Static<T>>(Type.Ref(schema.$id!))

/** A string that PostgreSQL can store: no NUL, no lone surrogates. */
export const Text = (options: { minLength?: number; maxLength?: number; description?: string } = {}) =>
  Type.String({ format: 'text', maxLength: 4_096, ...options })

/** An object with string values; keys have at most 1,024 characters. */
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

/** An object with any members, forwarded unchanged. */
export const OpenObject = (description?: string) =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    ...(description ? { description } : {})
  })

/** Members that explain a failed contact with a server; absent if its cause is not known. */
export const explanationMembers = {
  cause: Type.Optional(Type.String({ description: 'Known cause of the failure, see the troubleshooting page' })),
  summary: Type.Optional(Type.String({ description: 'What happened, as a sentence' })),
  next_step: Type.Optional(Type.String({ description: 'What to do next, as a sentence' }))
}

export const ErrorBody = Type.Object(
  {
    error: Type.String(),
    code: Type.Optional(Type.String()),
    ...explanationMembers,
    stderr: Type.Optional(
      Type.Unsafe<readonly string[]>(
        Type.Array(Type.String(), {
          maxItems: 20,
          description: 'Last lines of the program’s stderr, secrets removed; only for administrators'
        })
      )
    ),
    recognized: Type.Optional(Type.String({ description: 'What the body is, if it is no registration' })),
    registrations: Type.Optional(
      Type.Unsafe<readonly object[]>(
        Type.Array(Type.Object({}), { maxItems: 100, description: 'The same servers as bodies of registrations' })
      )
    ),
    problems: Type.Optional(
      Type.Unsafe<readonly string[]>(
        Type.Array(Type.String(), { maxItems: 100, description: 'Why parts of the body cannot be registered' })
      )
    ),
    policy: Type.Optional(Type.String({ description: 'Policy that refused the call' })),
    decision: Type.Optional(Type.String({ description: 'Id of the decision, also in the audit log' })),
    approval: Type.Optional(
      Type.Object(
        { id: Type.String(), status: Type.String(), expires_at: Type.String() },
        { description: 'Request for approval that the call waits for: the same request succeeds after the yes' }
      )
    )
  },
  { $id: 'Error', additionalProperties: false }
)

export const statusDescriptions = {
  400: 'Invalid input',
  401: 'Missing or invalid access token',
  403: 'The Host or Origin is not allowed, or the gateway is not initialised',
  404: 'Not found',
  405: 'Method not allowed; `Allow` lists the allowed ones',
  406: 'The `Accept` header matches no available content type',
  408: 'The request took too long to arrive',
  409: 'Conflict with the current state',
  413: 'The body is too large',
  414: 'The name in the path is too long',
  415: 'The content type is not JSON',
  429: 'Too many concurrent requests, or too many with invalid access tokens; see `Retry-After`',
  431: 'The headers are too large',
  500: 'Internal error of the gateway',
  502: 'The upstream failed or cannot be reached',
  503: 'Stopping, overloaded, or the database cannot be reached; see `Retry-After`',
  504: 'The upstream did not respond in time'
} as const
export type ErrorStatus = keyof typeof statusDescriptions

/** Returns the error responses of a route, by status. */
export const errorResponses = <const S extends readonly ErrorStatus[]>(...statuses: S) =>
  Object.fromEntries(
    statuses.map((status) => [status, { ...ref(ErrorBody), description: statusDescriptions[status] }])
  ) as {
    [K in S[number]]: TUnsafe<Static<typeof ErrorBody>>
  }

/** Describes the alias that MCPJungle's client uses for a member. */
export const mcpJungleAlias = (member: string) => ({ description: `Alias of \`${member}\` for MCPJungle's client` })

/** Path parameter. An invalid name matches nothing, so it is a 404 instead of a 400. */
export const NameParam = Type.Object({ name: Text({ minLength: 1 }) })

export const ServerQuery = Type.Object({
  server: Type.Optional(Text({ minLength: 1, description: 'Only items of this server' }))
})

export const NameQuery = Type.Object({
  name: Text({ minLength: 1, description: 'Qualified name, `<server>__<item>`' })
})

export const UriQuery = Type.Object({ uri: Text({ minLength: 1, description: 'URI as listed' }) })

export const EntityQuery = Type.Object({
  entity: Text({
    minLength: 1,
    description: 'Qualified name or URI of one item, or the name of a server for all its items'
  })
})

export const Names = Type.Array(Type.String(), {
  description: 'Names of all affected items, including those already in that state'
})
