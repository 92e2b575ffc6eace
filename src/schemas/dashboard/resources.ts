import { Type, type Static } from '@sinclair/typebox'
import { OpenObject } from '../shared.ts'
import { itemMembers } from './shared.ts'

const members = {
  name: Type.String({ description: 'What the upstream calls it' }),
  ...itemMembers,
  mime_type: Type.Optional(Type.String()),
  annotations: Type.Optional(OpenObject()),
  accepted: Type.Optional(
    Type.Object(
      {
        name: Type.Optional(Type.String()),
        title: Type.Optional(Type.String()),
        description: Type.Optional(Type.String()),
        mime_type: Type.Optional(Type.String()),
        annotations: Type.Optional(OpenObject()),
        size: Type.Optional(Type.Number())
      },
      { description: 'The accepted definition; only where the present one differs' }
    )
  )
}

/** A resource of the dashboard. */
export const ResourceView = Type.Object({
  uri: Type.String({ description: 'As routes and callers use it' }),
  ...members,
  size: Type.Optional(Type.Number({ description: 'Bytes, as the upstream says' }))
})
export type ResourceView = Static<typeof ResourceView>

/** A resource template of the dashboard. */
export const TemplateView = Type.Object({
  uri_template: Type.String({ description: 'As callers use it' }),
  ...members
})
export type TemplateView = Static<typeof TemplateView>

/** `GET /resources`: resources of all servers, including disabled ones. */
export const ResourcesView = Type.Object({
  resources: Type.Array(ResourceView),
  templates: Type.Array(TemplateView)
})
export type ResourcesView = Static<typeof ResourcesView>
