/** The members of a JSON Schema that this page shows. */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly items?: Schema
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly default?: string | number | boolean
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
}

interface Content {
  readonly description?: string
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Operation {
  readonly tags?: readonly string[]
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly description?: string
    readonly schema: Schema
  }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

/** The members of an OpenAPI document that this page shows. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const code = (value: string) => `\`${value}\``
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')
const capital = (text: string) => text[0]!.toUpperCase() + text.slice(1)
const nameOf = (ref: string) => ref.split('/').at(-1)!
const link = (ref: string) => `[${nameOf(ref)}](#${nameOf(ref).toLowerCase()})`

function typeOf({ $ref, type, items, enum: values, anyOf, additionalProperties }: Schema): string {
  if ($ref) return link($ref)
  if (anyOf) return anyOf.map((schema) => typeOf(schema)).join(' or ')
  if (values) return values.map((value) => code(value)).join(', ')
  if (type === 'array') return `array of ${items ? typeOf(items) : 'anything'}`
  if (type === 'object' && typeof additionalProperties === 'object') return 'map to strings'
  return [type ?? 'anything'].flat().join(' or ')
}

const bodyOf = ({ content }: Content): string | undefined => {
  const media = content && Object.values(content)[0]
  return media?.schema && typeOf(media.schema)
}

const note = ({ description, default: standard }: Schema) =>
  cell([description, standard === undefined ? '' : `Default ${code(String(standard))}`].filter(Boolean).join('. '))

function operationText(path: string, method: string, operation: Operation): string {
  const { summary = '', description, parameters = [], requestBody, responses } = operation
  const named = parameters.filter((parameter) => parameter.in === 'query')
  const body = requestBody && bodyOf(requestBody)
  const [successes, errors] = [2, 4].map((from) =>
    Object.entries(responses).filter(([status]) => (from === 2 ? status < '300' : status >= '300'))
  ) as [[string, Content][], [string, Content][]]
  const answer = ([status, content]: [string, Content]) => [status, bodyOf(content)].filter(Boolean).join(' ')
  return [
    `### ${method.toUpperCase()} ${path}`,
    `${summary}.${description ? ` ${description}` : ''}`,
    [
      ...named.map(({ name, required, description: about, schema }) =>
        `- Query ${code(name)}${required ? ', required' : ''}: ${note({ ...schema, ...(about && { description: about }) })}`.replace(
          /: $/,
          ''
        )
      ),
      ...(body ? [`- Body: ${body}`] : []),
      `- Answer: ${successes.map(answer).join('; ')}`,
      ...(errors.length > 0 ? [`- Errors: ${errors.map(([status]) => status).join(', ')}`] : [])
    ].join('\n')
  ].join('\n\n')
}

function schemaText(name: string, { description, properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(
    ([member, schema]) =>
      `| ${code(member)} | ${typeOf(schema)} | ${required.includes(member) ? 'yes' : ''} | ${note(schema)} |`
  )
  return [
    `### ${name}`,
    ...(description ? [description] : []),
    `<!-- prettier-ignore -->\n| Member | Type | Always | |\n|---|---|---|---|\n${rows.join('\n')}`
  ].join('\n\n')
}

/** Returns the text of docs/reference/http.md. */
export function httpReference({ paths, components }: Document): string {
  const byTag = new Map<string, string[]>()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? 'other'
      byTag.set(tag, [...(byTag.get(tag) ?? []), operationText(path, method, operation)])
    }
  }
  const parts = [...byTag].map(([tag, operations]) => `## ${capital(tag)}\n\n${operations.join('\n\n')}`)
  const schemas = Object.entries(components.schemas).map(([name, schema]) => schemaText(name, schema))
  return `# HTTP interface

All operations, generated from \`openapi.json\`. A running gateway serves that document at \`/openapi.json\` and an interactive
page at \`/docs\`. Bodies are JSON; unlisted members are refused.

In enterprise mode a request needs \`Authorization: Bearer <token>\` of a user or administrator, on MCP endpoints of an MCP
client ([permissions](../how-to/users-and-clients.md)); development mode needs none. Unknown query parameters of operations
under \`/api/v0\` are refused. Errors: [statuses and codes](errors.md).

${parts.join('\n\n')}

## Schemas

${schemas.join('\n\n')}
`
}
