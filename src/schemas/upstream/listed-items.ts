import { FormatRegistry, Type, type TSchema } from '@sinclair/typebox'

/** Checks an RFC 3339 date-time with seconds and time zone; the date must exist. */
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
/** Clients accept an array in place of an object here. */
const ObjectOrArray = Type.Union([AnyObject, Type.Array(Type.Unknown())])
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
  ...optional({ properties: Type.Record(Type.String(), ObjectOrArray), required: Texts })
})

const PromptArgument = Type.Object({
  name: Type.String(),
  ...optional({ description: Type.String(), required: Type.Boolean() })
})

const SkillFile = Type.Object({
  uri: Type.String(),
  digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
  size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
})

const common = { title: Type.String(), description: Type.String(), icons: Type.Array(Icon), _meta: AnyObject }
const ofResources = { ...common, mimeType: Type.String(), annotations: Annotations }

/** Members validated by clients, by kind, those of all but skills by 2025-11-25 and older: one invalid item makes them reject the whole list. */
const required = {
  tool: { name: Type.String(), inputSchema: ObjectSchema },
  prompt: { name: Type.String() },
  resource: { name: Type.String(), uri: Type.String() },
  template: { name: Type.String(), uriTemplate: Type.String() },
  skill: {
    uri: Type.String(),
    frontmatter: Type.Object({ name: Type.String(), description: Type.String() }),
    resources: Type.Union([Type.Array(SkillFile), Type.Literal('dynamic')])
  }
}
export const optionalMembers = {
  tool: { ...common, annotations: ToolAnnotations, execution: AnyObject, outputSchema: AnyObject },
  prompt: { ...common, arguments: Type.Array(PromptArgument) },
  resource: { ...ofResources, size: Type.Number() },
  template: ofResources,
  skill: { _meta: AnyObject }
}

const listedItem = (kind: keyof typeof required) =>
  Type.Object({ ...required[kind], ...optional(optionalMembers[kind]) })

/** Item definitions that clients accept in a list. */
export const ListedItems = {
  tool: listedItem('tool'),
  prompt: listedItem('prompt'),
  resource: listedItem('resource'),
  template: listedItem('template'),
  skill: listedItem('skill')
}

/** `outputSchema` accepted by clients of 2025-11-25 and older; later ones accept any schema. */
export const LegacyOutputSchema = ObjectSchema
