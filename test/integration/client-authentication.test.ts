import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutExplanation } from '../explained.ts'
import { freshConfig, openApp } from '../app.ts'
import { startAuthorizationServer, type AuthorizationSwitches } from '../fixtures/oauth/authorization-server.ts'
import { startProtected } from '../fixtures/oauth/protected.ts'
import { addCleanup } from '../store.ts'
import { begin, call, complete, modes, signIn, type Mode } from './oauth-helpers.ts'
import { cellsOf } from '../matrix.ts'

const basic = 'client_secret_basic'
const post = 'client_secret_post'
const open = 'none'
const lists = (...methods: string[]) => ({ metadata: { token_endpoint_auth_methods_supported: methods } })

interface Row {
  readonly as: string
  readonly switches: Partial<AuthorizationSwitches>
  /** Number of token requests for a sign-in. */
  readonly requests: number
}

/** Authorization servers with contradictory client authentication rules. */
const rows: readonly Row[] = [
  {
    as: 'lists all methods, wants client_id always',
    switches: { ...lists(basic, post, open), authentication: { clientId: 'always' } },
    requests: 1
  },
  {
    as: 'lists all methods, refuses client_id beside Basic',
    switches: { ...lists(basic, post, open), authentication: { clientId: 'never beside basic' } },
    requests: 1
  },
  {
    as: 'registers for Basic alone, wants client_id always',
    switches: { ...lists(basic, post), registered: basic, authentication: { clientId: 'always', methods: [basic] } },
    requests: 2
  },
  {
    as: 'registers for Basic alone, refuses client_id beside it',
    switches: {
      ...lists(basic, post),
      registered: basic,
      authentication: { clientId: 'never beside basic', methods: [basic] }
    },
    requests: 1
  },
  { as: 'lists Basic alone', switches: { ...lists(basic), authentication: { methods: [basic] } }, requests: 1 },
  {
    as: 'lists Basic alone, wants client_id always',
    switches: { ...lists(basic), authentication: { methods: [basic], clientId: 'always' } },
    requests: 2
  },
  { as: 'lists post alone', switches: { ...lists(post), authentication: { methods: [post] } }, requests: 1 },
  {
    as: 'lists none alone',
    switches: { ...lists(open), registered: open, authentication: { methods: [open] } },
    requests: 1
  },
  {
    as: 'registers for none whatever it is asked',
    switches: { ...lists(basic, post, open), registered: open, authentication: { methods: [open] } },
    requests: 1
  },
  {
    as: 'registers for post whatever it is asked',
    switches: { ...lists(basic), registered: post, authentication: { methods: [post] } },
    requests: 1
  },
  {
    as: 'says nothing, takes post alone',
    switches: {
      metadata: { token_endpoint_auth_methods_supported: undefined },
      registered: null,
      authentication: { methods: [post] }
    },
    requests: 2
  },
  {
    as: 'says nothing, takes Basic alone',
    switches: {
      metadata: { token_endpoint_auth_methods_supported: undefined },
      registered: null,
      authentication: { methods: [basic] }
    },
    requests: 1
  },
  {
    as: 'lists post and takes Basic alone',
    switches: {
      ...lists(basic, post),
      registered: null,
      authentication: { methods: [basic], clientId: 'never beside basic' }
    },
    requests: 2
  }
]

for (const [mode, { as: camp, switches, requests }] of cellsOf(Object.keys(modes) as Mode[], rows)) {
  test(`CR-F2: signing in and renewing work where the authorization server ${camp}, also after a restart (${mode})`, async (t) => {
    const config = await freshConfig(t, modes[mode])
    const as = await startAuthorizationServer(null, switches)
    addCleanup(t, as.close)
    const upstream = await startProtected(null, as)
    addCleanup(t, upstream.close)
    const first = await openApp(config)
    const setup = { app: first, as, upstream, logged: [] }
    const begun = await begin(setup)
    await first.close()
    const second = await openApp(config)
    const done = await complete({ ...setup, app: second }, begun)
    assert.equal(done.status, 201, done.text)
    assert.equal(as.tokenRequests('authorization_code').length, requests, 'requests with the code')
    as.revoke()
    assert.equal((await call(second)).status, 200, 'a call that needs a new token')
    await second.close()
    const third = await openApp(config)
    addCleanup(t, () => third.close())
    as.revoke()
    const answer = await call(third)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(as.tokenRequests('refresh_token').length, 2, 'what worked for the code is used at once for renewals')
  })
}

for (const mode of Object.keys(modes) as Mode[]) {
  test(`CR-F2: a client that is not known is refused after one more try, at sign-in and at renewal (${mode})`, async (t) => {
    const config = await freshConfig(t, modes[mode])
    const refusal = { status: 401, body: { error: 'invalid_client', error_description: 'Missing client_id' } }
    const as = await startAuthorizationServer(null, { ...lists(basic, post) })
    addCleanup(t, as.close)
    const upstream = await startProtected(null, as)
    addCleanup(t, upstream.close)
    const app = await openApp(config)
    addCleanup(t, () => app.close())
    const setup = { app, as, upstream, logged: [] }
    as.switches.refusal = refusal
    const refused = await complete(setup, await begin(setup))
    assert.deepEqual(
      [refused.status, withoutExplanation(refused.body as object)],
      [502, { error: 'server "guarded": the authorization server: refused the code: invalid_client' }]
    )
    assert.equal(as.tokenRequests().length, 2, 'the first way and one other')
    as.switches.refusal = undefined
    await signIn(setup)
    as.revoke()
    as.switches.refusal = refusal
    const ended = await call(app)
    assert.equal(ended.status, 502, ended.text)
    assert.equal(as.tokenRequests('refresh_token').length, 2, 'the first way and one other')
    assert.ok(!JSON.stringify([refused.body, ended.body]).includes('secret-'), 'no secret is told')
  })
}

test('CR-F2: a way that works for renewals alone is found there, and kept', async (t) => {
  const config = await freshConfig(t)
  const as = await startAuthorizationServer(null, { ...lists(basic, post) })
  addCleanup(t, as.close)
  const upstream = await startProtected(null, as)
  addCleanup(t, upstream.close)
  const app = await openApp(config)
  addCleanup(t, () => app.close())
  await signIn({ app, as, upstream, logged: [] })
  as.switches.authentication = { methods: [basic] }
  for (const expected of [2, 3]) {
    as.revoke()
    const answer = await call(app)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(as.tokenRequests('refresh_token').length, expected, 'requests for renewals so far')
  }
})

test('CR-F2: any other refusal is final', async (t) => {
  for (const [status, error] of [
    [400, 'invalid_grant'],
    [401, 'invalid_grant'],
    [400, 'unauthorized_client'],
    [500, 'invalid_client']
  ] as const) {
    const config = await freshConfig(t)
    const as = await startAuthorizationServer(null, { ...lists(basic, post), refusal: { status, body: { error } } })
    addCleanup(t, as.close)
    const upstream = await startProtected(null, as)
    addCleanup(t, upstream.close)
    const app = await openApp(config)
    addCleanup(t, () => app.close())
    const setup = { app, as, upstream, logged: [] }
    await complete(setup, await begin(setup))
    assert.equal(as.tokenRequests().length, 1, `${status} ${error}`)
  }
})
