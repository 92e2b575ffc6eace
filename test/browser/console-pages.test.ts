import { test } from 'node:test'
import { shareSetup } from '../shared-setup.ts'
import { skip } from './browser.ts'
import { openConsole } from './console-site.ts'
import { walkConsole } from './console-walk.ts'
import { addWaiting, startHostileConsole } from './hostile-console.ts'

const setUp = shareSetup(async (t) => {
  const console = await startHostileConsole(t)
  await addWaiting(t, console)
  return { console, site: await openConsole(console.gateway) }
})

for (const role of ['admin', 'auditor', 'user'] as const) {
  test(
    `CO-08 CO-09 every page that ${role === 'user' ? 'a user' : `an ${role}`} opens shows hostile texts as text, has no barrier and fits`,
    { skip },
    async () => {
      const { console, site } = await setUp()
      await walkConsole(console, site, role)
    }
  )
}
