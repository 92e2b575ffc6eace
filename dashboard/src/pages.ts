import type { ComponentType } from 'preact'
import { AddServer } from './pages/add-server.tsx'
import { Calls } from './pages/calls.tsx'
import { Connect } from './pages/connect.tsx'
import { Diagnostics } from './pages/diagnostics.tsx'
import { GroupBuilder } from './pages/group.tsx'
import { Groups } from './pages/groups.tsx'
import { Overview } from './pages/overview.tsx'
import { Prompts } from './pages/prompts.tsx'
import { Resources } from './pages/resources.tsx'
import { Server } from './pages/server.tsx'
import { Servers } from './pages/servers.tsx'
import { Tools } from './pages/tools.tsx'
import type { Page, Route } from './router.ts'

/** `name`: of the server, tool, prompt or group, or the id of the call; '' on pages of many. */
export type PageProps = Omit<Route, 'page'>

/** Each page is a file in `pages/`; a page and the page of one of its items may be the same. */
export const pages: Readonly<Record<Page, ComponentType<PageProps>>> = {
  overview: Overview,
  servers: Servers,
  'new-server': AddServer,
  server: Server,
  tools: Tools,
  tool: Tools,
  prompts: Prompts,
  prompt: Prompts,
  resources: Resources,
  groups: Groups,
  'new-group': GroupBuilder,
  group: GroupBuilder,
  calls: Calls,
  call: Calls,
  diagnostics: Diagnostics,
  connect: Connect
}
