import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { startGateway } from '../e2e/harness.ts'
import { registrationOf } from '../e2e/upstream.ts'
import { launchBrowser, requireBuild } from './browser.ts'
import { cookieFor } from './console-site.ts'
import { addWaiting, startHostileConsole } from './hostile-console.ts'
import type { SlowLoad } from './layout-shift.ts'
import { consolePages, dashboardPages, widths } from './page-list.ts'
import { startHostile } from './world.ts'

export interface SiteLoad extends SlowLoad {
  /** Who looks at the console; undefined for the dashboard. */
  readonly role?: 'admin' | 'auditor' | 'user'
  readonly width: number
  readonly page: string
}

/** Starts a gateway of each mode with the same servers. Returns every page of both, for each role, in each width. */
export async function shiftingSites(t: TestContext) {
  requireBuild()
  const [console, development, browser] = await Promise.all([startHostileConsole(t), startGateway(t), launchBrowser()])
  await addWaiting(t, console)
  await development.register(registrationOf('hostile', await startHostile(t)))
  const failing = { name: 'failing', transport: 'stdio', command: process.execPath, args: ['-e', 'process.exit(3)'] }
  assert.equal((await development.post('/api/v0/servers?save=disabled', failing)).status, 201)
  await development.post('/api/v0/tool-groups', { name: 'all', included_servers: ['hostile'] })
  await development.post('/api/v0/tools/invoke', { name: 'hostile__look' })
  const loads: SiteLoad[] = widths.flatMap((width) => {
    const viewport = { width, height: 900 }
    const { url } = console.gateway
    return [
      ...dashboardPages.map((hash) => ({ address: `${development.url}/#/${hash}`, page: hash, viewport, width })),
      ...(['admin', 'auditor', 'user'] as const).flatMap((role) =>
        consolePages.map((hash) => ({
          address: `${url}/console/#/${hash}`,
          cookie: cookieFor(url, console.cookieOf(role)),
          page: hash,
          viewport,
          width,
          role
        }))
      )
    ]
  })
  return { browser, loads }
}
