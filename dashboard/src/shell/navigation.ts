import type { Overview } from '../../../src/schemas/dashboard/overview.ts'
import { HOMEPAGE } from '../../../src/domain/product.ts'
import { addressOf, mount } from '../mount.ts'
import { link, type Page } from '../router.ts'
import type { Viewer } from '../session.ts'
import { mayOpen } from './page-access.ts'

export interface NavigationEntry {
  readonly label: string
  readonly page: Page
  readonly count?: (overview: Overview) => number
  /** True if the count is of what waits for somebody. */
  readonly isWaiting?: true
  /** Pages below this one. */
  readonly within?: readonly Page[]
}

/** Left navigation: groups of pages, the first without a heading. */
export const navigation: readonly { readonly heading?: string; readonly entries: readonly NavigationEntry[] }[] = [
  {
    entries: [
      { label: 'Overview', page: 'overview' },
      { label: 'Servers', page: 'servers', within: ['server', 'new-server'], count: (o) => o.server_count },
      { label: 'Catalogue', page: 'catalogue', within: ['catalogue-server'] },
      { label: 'Tools', page: 'tools', within: ['tool'], count: (o) => o.tool_count },
      { label: 'Prompts', page: 'prompts', within: ['prompt'], count: (o) => o.prompt_count },
      { label: 'Resources', page: 'resources', count: (o) => o.resource_count },
      { label: 'Groups', page: 'groups', within: ['group', 'new-group'], count: (o) => o.group_count }
    ]
  },
  {
    heading: 'Observe',
    entries: [
      { label: 'Definitions', page: 'definitions', count: (o) => o.held_count, isWaiting: true },
      { label: 'Calls', page: 'calls', within: ['call'] },
      { label: 'Approvals', page: 'approvals', within: ['approval'], count: (o) => o.approval_count },
      { label: 'Diagnostics', page: 'diagnostics', count: (o) => o.attention_count }
    ]
  },
  {
    heading: 'Administer',
    entries: [
      { label: 'People', page: 'people', within: ['person'] },
      { label: 'Teams', page: 'teams', within: ['team'] },
      { label: 'MCP clients', page: 'mcp-clients' },
      { label: 'OAuth clients', page: 'oauth-clients' },
      { label: 'Policies', page: 'policies', within: ['policy', 'new-policy'] },
      { label: 'Audit', page: 'audit' }
    ]
  },
  {
    heading: 'Use',
    entries: [
      { label: 'Connect', page: 'connect' },
      { label: 'Me', page: 'me' }
    ]
  }
]

/** Pages of the console alone. */
const consolePages: ReadonlySet<Page> = new Set<Page>([
  ...(['me', 'people', 'person', 'teams', 'team', 'audit'] as const),
  ...(['mcp-clients', 'oauth-clients', 'policies', 'policy', 'new-policy'] as const)
])

/** Returns true if this mount has the page. */
export const isServed = (page: Page): boolean => mount.isConsole || !consolePages.has(page)

/** Returns the navigation of a viewer: pages that may not be opened are not offered. */
export const navigationFor = (viewer: Viewer): typeof navigation =>
  navigation
    .map(({ entries, ...group }) => ({
      ...group,
      entries: entries.filter(({ page }) => isServed(page) && mayOpen(viewer, page))
    }))
    .filter(({ entries }) => entries.length > 0)

/** API documentation, a page of its own outside the dashboard. */
export const API_DOCS = addressOf('/docs')

export const pageLinksFor = (viewer: Viewer): readonly { readonly label: string; readonly href: string }[] => [
  ...navigationFor(viewer).flatMap(({ entries }) => entries.map(({ label, page }) => ({ label, href: link(page) }))),
  { label: 'API', href: API_DOCS },
  { label: 'Documentation', href: HOMEPAGE }
]
