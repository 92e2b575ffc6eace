import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { until } from '../until.ts'
import { routesBelow, startConsole, viewers, type ViewerRole } from './console-helpers.ts'

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

test('CO-01 without the console its paths and those of the dashboard are unknown', async (t) => {
  const { url } = await startSignInGateway(t)
  const paths = ['/', '/console', '/console/', '/console/assets/x.js', '/assets/x.js', '/api/dashboard/servers']
  for (const path of [...paths, '/api/console/session', '/api/console/servers']) {
    for (const headers of [{}, html]) {
      const { status } = await fetch(url + path, { redirect: 'manual', headers })
      assert.equal(status, 404, path)
    }
  }
})

test('CO-02 the first page leads browsers to the console, and programs nowhere', async (t) => {
  const { gateway } = await startConsole(t)
  const open = (path: string, headers: Record<string, string>) =>
    fetch(gateway.url + path, { redirect: 'manual', headers })
  const browser = await open('/', html)
  assert.equal(browser.status, 303)
  assert.equal(browser.headers.get('location'), '/console/')
  for (const headers of [{ accept: '*/*' }, { accept: 'application/json' }] as const) {
    assert.equal((await open('/', headers)).status, 404)
  }
  assert.equal((await open('/console', html)).headers.get('location'), '/console/')
  for (const path of ['/assets/x.js', '/api/dashboard/servers', '/index.html']) {
    assert.equal((await open(path, html)).status, 404, path)
  }
})

/** Roles that may use each route of the console, as the page says it. */
const everybody = ['user', 'auditor', 'admin'] as const
const reading = ['auditor', 'admin'] as const
const administrators = ['admin'] as const
const rights: Readonly<Record<string, readonly ViewerRole[]>> = {
  'GET /session': everybody,
  'GET /overview': everybody,
  'GET /events': everybody,
  'GET /servers': everybody,
  'GET /servers/:name': everybody,
  'GET /tools': everybody,
  'GET /prompts': everybody,
  'GET /resources': everybody,
  'GET /skills': everybody,
  'GET /tool-groups': everybody,
  'GET /tool-groups/:name': everybody,
  'GET /calls': everybody,
  'GET /calls/:id': everybody,
  'GET /stats': reading,
  'GET /diagnostics': reading,
  'GET /calls/causes': administrators,
  'POST /servers': administrators,
  'POST /servers/demo': administrators,
  'POST /servers/import': administrators,
  'PUT /servers/:name': administrators,
  'POST /servers/:name/test': administrators,
  'PATCH /servers/:name/enabled': administrators,
  'DELETE /servers/:name': administrators,
  ...Object.fromEntries(
    ['tools', 'prompts', 'resources', 'skills'].map((kind) => [`PATCH /${kind}/:name/enabled`, administrators])
  ),
  'POST /tool-groups': administrators,
  'POST /tool-groups/preview': administrators,
  'PUT /tool-groups/:name': administrators,
  'DELETE /tool-groups/:name': administrators,
  'GET /oauth/callback': administrators,
  'GET /oauth/session/:id': administrators
}

test('CO-03 every route of the console is open to its roles, and to nobody else', async (t) => {
  const { gateway, send } = await startConsole(t)
  assert.deepEqual(routesBelow(gateway.app, '/api/console').toSorted(), Object.keys(rights).toSorted())
  for (const [route, allowed] of Object.entries(rights)) {
    const [method, pattern] = route.split(' ') as [string, string]
    const path = `/api/console${pattern.replace(/:\w+/g, 'nothing')}`
    for (const role of viewers) {
      const { status, body } = await send(role, method, path)
      await body?.cancel()
      const what = `${route} by ${role}: ${status}`
      assert.ok(status < 500, what)
      if (role === 'nobody') assert.equal(status, 401, what)
      else if (allowed.includes(role)) assert.ok(status !== 401 && status !== 403, what)
      else assert.equal(status, 403, what)
    }
  }
})

test('CO-04 a write needs a page of the gateway and the token of the same session', async (t) => {
  const { gateway, send } = await startConsole(t)
  const write = (headers: Record<string, string | undefined>) =>
    send('admin', 'PATCH', '/api/console/servers/k8s/enabled', { body: { enabled: false }, headers })
  const { csrf_token: other } = (await (await send('auditor', 'GET', '/api/console/session')).json()) as {
    csrf_token: string
  }
  const refused = {
    'another origin': { origin: 'https://evil.example' },
    'another site': { 'sec-fetch-site': 'cross-site' },
    'no token': { 'x-towpath-csrf': undefined },
    'the token of another session': { 'x-towpath-csrf': other }
  }
  for (const [what, headers] of Object.entries(refused)) {
    assert.equal((await write(headers)).status, 403, what)
    assert.equal((await gateway.api('GET', '/servers/k8s')).body.enabled, true, what)
  }
  assert.equal((await write({})).status, 200)
  assert.equal((await gateway.api('GET', '/servers/k8s')).body.enabled, false)
})

test('a first visit without a session is no refusal in the audit log; a wrong token or cookie is one', async (t) => {
  const { gateway } = await startConsole(t)
  const ask = async (headers: Record<string, string>) =>
    (await fetch(`${gateway.url}/api/console/session`, { headers })).status
  assert.equal(await ask({}), 401)
  assert.equal(await ask({ cookie: 'towpath=wrong' }), 401)
  assert.equal(await ask({ authorization: 'Bearer wrong' }), 401)
  assert.equal((await fetch(`${gateway.url}/api/console/servers`)).status, 401)
  const targets = await until('the refusals', async () => {
    const { entries } = (await gateway.api('GET', '/audit?action=request.refused')).body
    return entries.length >= 3 && entries.map(({ target }: { target: string }) => target)
  })
  assert.deepEqual(targets.toSorted(), [
    'GET /api/console/servers',
    'GET /api/console/session',
    'GET /api/console/session'
  ])
})
