import type { Page } from '../router.ts'
import type { Viewer } from '../session.ts'

/** Right that a page needs; pages that are not listed are for everybody who signed in. */
const needs: Readonly<Partial<Record<Page, keyof Viewer['may']>>> = {
  catalogue: 'audit',
  'catalogue-server': 'audit',
  'new-server': 'administer',
  'new-group': 'administer',
  definitions: 'audit',
  diagnostics: 'audit',
  people: 'audit',
  person: 'audit',
  teams: 'audit',
  team: 'audit',
  audit: 'audit',
  'mcp-clients': 'audit',
  'oauth-clients': 'audit',
  policies: 'audit',
  policy: 'audit',
  'new-policy': 'administer'
}

/** Returns true if the viewer may open the page; the gateway decides on each request of it all the same. */
export const mayOpen = ({ may }: Viewer, page: Page): boolean => {
  const right = needs[page]
  return right === undefined || may[right]
}

/** Returns who may open a page that not everybody may open: "administrators" or "administrators and auditors". */
export const whoMayOpen = (page: Page): string =>
  needs[page] === 'audit' ? 'administrators and auditors' : 'administrators'
