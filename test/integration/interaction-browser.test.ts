import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import {
  createAuthorization,
  REDIRECT,
  registerClient,
  signIn,
  startSignInGateway
} from '../fixtures/identity-provider/gateway.ts'

const pairsOf = ({ headers }: Response) => headers.getSetCookie().map((line) => line.split(';')[0]!)

test('a sign-in that another browser began cannot be answered, even with its cookies of the library', async (t) => {
  const gateway = await startSignInGateway(t)
  const { url } = createAuthorization(gateway, await registerClient(gateway))
  const begun = await fetch(url, { redirect: 'manual' })
  const page = new URL(begun.headers.get('location')!, gateway.url)
  const planted = pairsOf(begun).filter((pair) => /^towpath_(?:interaction|resume)/.test(pair))
  assert.ok(planted.length > 0)
  const victim = createBrowser()
  for (const pair of planted) victim.plant(page, pair)
  await signIn(victim, `${gateway.url}/auth/session`, 'alice')
  const consent = await victim.open(page)
  assert.equal(consent.status, 400, consent.text)
  assert.match(consent.text, /not started in this browser/)
})

test('the cookie of the browser is out of reach of other hosts, and the same for every client', async (t) => {
  const gateway = await startSignInGateway(t, { env: { TOWPATH_PUBLIC_URL: 'https://towpath.example.com' } })
  const { url } = createAuthorization(gateway, await registerClient(gateway), {
    resource: 'https://towpath.example.com/mcp'
  })
  const begun = await fetch(url, { redirect: 'manual' })
  const line = begun.headers.getSetCookie().find((each) => each.startsWith('__Host-towpath-browser-'))
  assert.match(line!, /^__Host-towpath-browser-\d+=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  const again = await fetch(url, { redirect: 'manual', headers: { cookie: line!.split(';')[0]! } })
  assert.ok(!again.headers.getSetCookie().some((each) => each.includes('-browser-')), 'it is kept')
})

test('pages that a browser opens at once, before it has a cookie, can all be answered', async (t) => {
  const gateway = await startSignInGateway(t)
  const clientId = await registerClient(gateway)
  const open = () => fetch(createAuthorization(gateway, clientId).url, { redirect: 'manual' })
  const isOurs = (pair: string) => pair.startsWith('towpath-browser-')
  const begun = await Promise.all(Array.from({ length: 6 }, open))
  const first = begun[0]!
  const ownName = pairsOf(first).find(isOurs)!.split('=')[0]!
  const others = begun
    .slice(1)
    .flatMap(pairsOf)
    .filter((pair) => isOurs(pair) && !pair.startsWith(`${ownName}=`))
  assert.ok(others.length > 0)
  const page = new URL(first.headers.get('location')!, gateway.url)
  const cookie = [...others, ...pairsOf(first)].join('; ')
  const answer = await fetch(page, { redirect: 'manual', headers: { cookie } })
  assert.deepEqual([answer.status, answer.headers.get('location')?.startsWith('/auth/login')], [303, true])
})

test('a client cannot choose the browser that may answer', async (t) => {
  const gateway = await startSignInGateway(t)
  const clientId = await registerClient(gateway)
  const { url } = createAuthorization(gateway, clientId, { towpath_browser: 'chosen' })
  const browser = createBrowser()
  const consent = await signIn(browser, url, 'alice')
  assert.equal(consent.status, 200, consent.text)
  const isBack = (to: URL) => to.href.startsWith(REDIRECT)
  const { url: back } = await browser.submit(consent, { answer: 'allow' }, { stopsAt: isBack })
  assert.ok(back.searchParams.get('code'), back.href)
})

test('an answer counts only in the browser that asked', async (t) => {
  const gateway = await startSignInGateway(t)
  const { url } = createAuthorization(gateway, await registerClient(gateway))
  const begun = await fetch(url, { redirect: 'manual' })
  const page = new URL(begun.headers.get('location')!, gateway.url)
  const cookies = pairsOf(begun)
  const browser = createBrowser()
  for (const pair of cookies) browser.plant(page, pair)
  const consent = await signIn(browser, page.href, 'alice')
  const isResume = (to: URL) => to.pathname.startsWith('/oauth/authorize/')
  const { url: resume } = await browser.submit(consent, { answer: 'allow' }, { stopsAt: isResume })
  const stolen = cookies.filter((pair) => !pair.startsWith('towpath-browser-'))
  const headers = { cookie: stolen.join('; '), 'x-towpath-browser': 'any' }
  const answer = await fetch(resume, { redirect: 'manual', headers })
  assert.deepEqual([answer.status, answer.headers.get('location')], [400, null])
  assert.match(await answer.text(), /not started in this browser/)
})
