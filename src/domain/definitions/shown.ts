import { indentJson } from '../text/indent-json.ts'
import type { DefinitionKind } from './kinds.ts'

/** Members whose values are texts; those of all others are shown as JSON */
const texts = new Set(['name', 'title', 'description', 'uri', 'uriTemplate', 'mimeType', 'instructions'])

/** Returns a value of a change as people read it: a text as it is, JSON indented. Empty if the member is absent. */
export const shownValue = (member: string, value: string | null): string =>
  value === null ? '' : texts.has(member) ? value : indentJson(value)

/** A definition as people name it */
export interface NamedDefinition {
  readonly server: string
  readonly kind: DefinitionKind
  readonly name: string
}

/** Returns the label of a definition: `<server>/<kind>/<name>`, or `<server>/instructions`. */
export const definitionLabel = ({ server, kind, name }: NamedDefinition): string =>
  kind === 'instructions' ? `${server}/instructions` : `${server}/${kind}/${name}`
