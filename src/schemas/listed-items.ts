import { FormatRegistry, Type, type TSchema } from '@sinclair/typebox'

/** RFC 3339, with seconds and a zone, of a day that the calendar has. */
function isDateTime(text: string): boolean {
  const [, day] =
    /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/.exec(text) ??
    []
  const at = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(`${day}T`)
}
FormatRegistry.Set('mcp-date-time', isDateTime)

const optional = <T extends Record<string, TSchema>>(members: T) =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, Type.Optional(schema)]))
const AnyObject = Type.Object({})
/** Clients take an array for an object here. */
const Part = Type.Union([AnyObject, Type.Array(Type.Unknown())])
const Texts = Type.Array(Type.String())

const Icon = Type.Object({
  src: Type.String(),
  ...optional({
    mimeType: Type.String(),
    sizes: Texts,
    theme: Type.Union([Type.Literal('light'), Type.Literal('dark')])
  })
})

const Annotations = Type.Object(
  optional({
    audience: Type.Array(Type.Union([Type.Literal('user'), Type.Literal('assistant')])),
    priority: Type.Number({ minimum: 0, maximum: 1 }),
    lastModified: Type.String({ format: 'mcp-date-time' })
  })
)

const ToolAnnotations = Type.Object(
  optional({
    title: Type.String(),
    readOnlyHint: Type.Boolean(),
    destructiveHint: Type.Boolean(),
    idempotentHint: Type.Boolean(),
    openWorldHint: Type.Boolean()
  })
)

const ObjectSchema = Type.Object({
  type: Type.Literal('object'),
  ...optional({ properties: Type.Record(Type.String(), Part), required: Texts })
})

const PromptArgument = Type.Object({
  name: Type.String(),
  ...optional({ description: Type.String(), required: Type.Boolean() })
})

const common = { title: Type.String(), description: Type.String(), icons: Type.Array(Icon), _meta: AnyObject }
const ofResources = { ...common, mimeType: Type.String(), annotations: Annotations }

/** Members that clients of 2025-11-25 and older check, by kind: one that breaks a rule costs them the whole list. */
const required = {
  tool: { name: Type.String(), inputSchema: ObjectSchema },
  prompt: { name: Type.String() },
  resource: { name: Type.String(), uri: Type.String() },
  template: { name: Type.String(), uriTemplate: Type.String() }
}
export const optionalMembers = {
  tool: { ...common, annotations: ToolAnnotations, execution: AnyObject, outputSchema: AnyObject },
  prompt: { ...common, arguments: Type.Array(PromptArgument) },
  resource: { ...ofResources, size: Type.Number() },
  template: ofResources
}

const listed = (kind: keyof typeof required) => Type.Object({ ...required[kind], ...optional(optionalMembers[kind]) })

/** Definitions as they have to be for clients to take the list that they stand in. */
export const ListedItems = {
  tool: listed('tool'),
  prompt: listed('prompt'),
  resource: listed('resource'),
  template: listed('template')
}

/** `outputSchema` as clients of 2025-11-25 and older take it; later ones take any schema. */
export const LegacyOutputSchema = ObjectSchema
