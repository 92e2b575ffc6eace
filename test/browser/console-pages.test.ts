import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findBarriers, overflowOf, resize, skip, waitForData } from './browser.ts'
import { openConsole } from './console-site.ts'
import { hostile } from './world.ts'
import { startHostileConsole } from './hostile-console.ts'

/** Every page of the console that a hash opens, with something hostile to show. */
const pages = [
  ...['overview', 'servers', 'servers/hostile', 'new/server', 'catalogue', 'tools', 'tools/hostile__look', 'prompts'],
  ...['prompts/hostile__ask', 'resources', 'groups', 'groups/all', 'new/group', 'calls', 'diagnostics', 'connect'],
  ...['people', 'teams', 'clients', 'oauth-clients', 'policies', 'audit', 'me', 'nowhere']
]

const wide = { width: 1_440 }
const narrow = { width: 390 }

for (const role of ['admin', 'auditor', 'user'] as const) {
  test(
    `CO-08 CO-09 every page that ${role === 'user' ? 'a user' : `an ${role}`} opens shows hostile texts as text, has no barrier and fits`,
    { skip },
    async (t) => {
      const console = await startHostileConsole(t)
      const { visit } = await openConsole(t, console.gateway)
      const titles = new Set<string>()
      await visit(
        '#/overview',
        async (page) => {
          for (const name of pages) {
            await page.goto(`${console.gateway.url}/console/#/${name}`)
            await page.locator('main h1').waitFor()
            await waitForData(page)
            titles.add(await page.title())
            for (const { width } of [wide, narrow]) {
              await resize(page, width)
              for (const colorScheme of ['light', 'dark'] as const) {
                await page.emulateMedia({ colorScheme })
                assert.deepEqual(await findBarriers(page), [], `${name}, ${role}, ${width}, ${colorScheme}`)
              }
              assert.equal(await overflowOf(page), 0, `${name}, ${role}, ${width}`)
            }
            await resize(page, wide.width)
            // markup of an upstream or of a person would have run, or be an element
            assert.equal(await page.evaluate('globalThis.__x'), undefined, name)
            assert.equal(await page.locator('img[src="x"], main a[href^="javascript:"]').count(), 0, name)
            assert.doesNotMatch(await page.locator('body').innerText(), /[\u200b\u202e]/, `${name} ${hostile.hidden}`)
          }
        },
        { cookie: console.cookieOf(role) }
      )
      // otherwise the same page would have been looked at again and again
      assert.ok(titles.size > 12, [...titles].join(', '))
    }
  )
}
