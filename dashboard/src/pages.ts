import type { ComponentType } from 'preact'
import { lazy } from './components/lazy.tsx'
import { AddServer } from './pages/add-server.tsx'
import { Calls } from './pages/calls.tsx'
import { Connect } from './pages/connect.tsx'
import { Diagnostics } from './pages/diagnostics.tsx'
import { Groups } from './pages/groups.tsx'
import { Overview } from './pages/overview.tsx'
import { Server } from './pages/server.tsx'
import { Servers } from './pages/servers.tsx'
import type { Page, Route } from './router.ts'

/** `name`: of the server, tool, prompt or group, or the id of the call; '' on pages of many. */
export type PageProps = Omit<Route, 'page'>

/** Pages with forms made from schemas are loaded when they are first shown (budget: dashboard.md#budgets). */
const GroupBuilder = lazy<PageProps>(async () => (await import('./pages/group.tsx')).GroupBuilder)
const Prompts = lazy<PageProps>(async () => (await import('./pages/prompts.tsx')).Prompts)
const Resources = lazy<PageProps>(async () => (await import('./pages/resources.tsx')).Resources)
const Tools = lazy<PageProps>(async () => (await import('./pages/tools.tsx')).Tools)

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

/** Lists that stay beside the item that is shown: choosing another one does not make the page anew. */
const panes: Readonly<Partial<Record<Route['page'], Page>>> = {
  tools: 'tools',
  tool: 'tools',
  prompts: 'prompts',
  prompt: 'prompts'
}

/** Routes with the same key are one page whose state stays. */
export const sameAs = ({ page, name }: Route): string => panes[page] ?? `${page} ${name}`
