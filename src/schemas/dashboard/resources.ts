import { Type, type Static } from '@sinclair/typebox'
import { OpenObject } from '../shared.ts'
import { itemMembers } from './shared.ts'

const members = {
  name: Type.String({ description: 'The upstream’s own name' }),
  ...itemMembers,
  mime_type: Type.Optional(Type.String()),
  annotations: Type.Optional(OpenObject()),
  app: Type.Optional(OpenObject('For the interface of an MCP App: its `_meta.ui`, such as CSP and permissions'))
}

/** A resource of the dashboard. */
export const ResourceView = Type.Object({
  uri: Type.String({ description: 'URI used in routes and by callers' }),
  ...members,
  size: Type.Optional(Type.Number({ description: 'Size in bytes, as reported by the upstream' }))
})
export type ResourceView = Static<typeof ResourceView>

/** A resource template of the dashboard. */
export const TemplateView = Type.Object({
  uri_template: Type.String({ description: 'Template used by callers' }),
  ...members
})
export type TemplateView = Static<typeof TemplateView>

/** `GET /resources`: resources of all servers, including disabled ones. */
export const ResourcesView = Type.Object({
  resources: Type.Array(ResourceView),
  templates: Type.Array(TemplateView)
})
export type ResourcesView = Static<typeof ResourcesView>
