import { Type, type Static } from '@sinclair/typebox'
import { OpenObject, Text } from './shared.ts'

const common = {
  name: Type.String(),
  enabled: Type.Boolean(),
  title: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  mime_type: Type.Optional(Type.String()),
  annotations: Type.Optional(OpenObject()),
  _meta: Type.Optional(OpenObject())
}

export const Resource = Type.Object(
  { uri: Type.String(), ...common, size: Type.Optional(Type.Number()) },
  { $id: 'Resource', additionalProperties: true }
)

export const ResourceTemplate = Type.Object(
  { uri_template: Type.String(), ...common },
  { $id: 'ResourceTemplate', additionalProperties: true }
)

export const ResourceRead = Type.Object(
  { uri: Text({ minLength: 1 }) },
  { $id: 'ResourceRead', additionalProperties: false }
)
export type ResourceRead = Static<typeof ResourceRead>

export const ResourceContents = Type.Object(
  { contents: Type.Array(OpenObject('An object with `uri`, and `text` or `blob`')) },
  { $id: 'ResourceContents', additionalProperties: true }
)
