import assert from 'node:assert/strict'
import { type ConsoleSite } from './console-site.ts'
import type { Console, ViewerRole } from '../integration/console-helpers.ts'
import { navigate } from './browser.ts'
import { consolePages } from './page-list.ts'
import { checkInert, checkLooks } from './page-checks.ts'

/** Opens every page of a hostile console as a role, and checks it. */
export async function walkConsole(console: Console, { visit }: ConsoleSite, role: ViewerRole): Promise<void> {
  const titles = new Set<string>()
  await visit(
    '#/overview',
    async (page) => {
      for (const name of consolePages) {
        await navigate(page, `#/${name}`)
        titles.add(await page.title())
        await checkLooks(page, `${name}, ${role}`)
        await checkInert(page, name)
      }
    },
    {
      cookie: console.cookieOf(role),
      // to a user a server without a tool that she may use does not exist
      ...(role === 'user' && { expected: /404 .*\/api\/console\/servers\/failing$/ })
    }
  )
  // otherwise the same page would have been looked at again and again
  assert.ok(titles.size > 12, [...titles].join(', '))
}
