import { isObject } from '../../domain/is-object.ts'
import { withQuery } from '../io/api.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Records } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { table } from '../output/table.ts'
import { stripControls } from '../output/contents.ts'

const typeOf = (schema: unknown): string => {
  if (!isObject(schema)) return 'any'
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.type === 'array') return `${typeOf(schema.items)}[]`
  return typeof schema.type === 'string' ? schema.type : Array.isArray(schema.type) ? schema.type.join(' | ') : 'any'
}

/** Rows of the parameters; undefined if the schema is not an object with properties. */
function parameters(schema: unknown): string[][] | undefined {
  if (!isObject(schema) || !isObject(schema.properties)) return undefined
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(schema.properties).map(([name, property]) => [
    name,
    typeOf(property),
    required.includes(name) ? 'yes' : '',
    isObject(property) && typeof property.description === 'string' ? property.description : ''
  ])
}

export const showUsage: Action = async (cli, [name = '']) => {
  const request = cli.api.get<Records['tool']>(withQuery('/api/v0/tool', { name }))
  const answer = await withSuggestion(cli, 'tool', name, request)
  const { description = '', input_schema, enabled } = answer.body
  const rows = parameters(input_schema)
  const shown = (width: number | undefined) =>
    [
      `${name}${enabled ? '' : ' (disabled)'}`,
      stripControls(cli, description),
      rows === undefined
        ? JSON.stringify(input_schema, null, 2)
        : rows.length === 0
          ? 'No parameters.'
          : table(['parameter', 'type', 'required', 'description'], rows, width)
    ]
      .filter((part) => part !== '')
      .join('\n\n')
  await cli.show(answer, { table: shown, names: () => [name] })
}
