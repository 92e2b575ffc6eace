import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import {
  connectClient,
  listTools,
  signIn,
  startSignInGateway,
  type SignInGateway
} from '../fixtures/identity-provider/gateway.ts'
import { someFor } from '../matrix.ts'
import { engines, type Engine } from '../store.ts'
import { until } from '../until.ts'

const TOKEN = 'scim-token-0123456789'
const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

type Env = Readonly<Record<string, string>>

async function start(t: TestContext, { engine, env = {} }: { readonly engine?: Engine; readonly env?: Env } = {}) {
  const gateway = await startSignInGateway(t, { ...(engine && { engine }), env: { TOWPATH_SCIM_TOKEN: TOKEN, ...env } })
  const send = async (method: string, path: string, body?: unknown, token = TOKEN) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await fetch(`${gateway.url}/scim/v2${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: text })
    })
    const answered = await answer.text()
    if (answered !== '') assert.match(answer.headers.get('content-type')!, /^application\/scim\+json/)
    return { status: answer.status, headers: answer.headers, body: answered === '' ? undefined : JSON.parse(answered) }
  }
  const add = async (path: string, body: object): Promise<string> => {
    const made = await send('POST', path, body)
    assert.equal(made.status, 201, JSON.stringify(made.body))
    return made.body.id as string
  }
  const patch = (path: string, ...Operations: object[]) => send('PATCH', path, { schemas: [PATCH], Operations })
  const find = async (path: string, filter: string): Promise<any[]> => {
    const found = await send('GET', `${path}?${new URLSearchParams({ filter }).toString()}`)
    assert.equal(found.status, 200, JSON.stringify(found.body))
    return found.body.Resources as any[]
  }
  return { ...gateway, gateway, send, add, patch, find }
}

const person = (name: string, more: object = {}) => ({
  schemas: [USER],
  userName: `${name}@example.com`,
  name: { givenName: name, familyName: 'Example' },
  emails: [{ value: `${name}@example.com`, type: 'work', primary: true }],
  active: true,
  ...more
})

/** Returns what an administrator sees of a user. */
const detailsOf = async ({ api }: Pick<SignInGateway, 'api'>, name: string): Promise<any> =>
  (await api('GET', `/users/${name}`)).body

for (const engine of someFor('users', engines)) {
  test(`IA-43 a SCIM client creates, finds, changes and removes users (${engine})`, async (t) => {
    const { gateway, send, add, patch, find } = await start(t, { engine })
    const made = await send(
      'POST',
      '/Users',
      person('alice', { externalId: 'ext-1', password: 'not kept', [ENTERPRISE]: { department: 'x' } })
    )
    assert.equal(made.status, 201, JSON.stringify(made.body))
    const { id } = made.body
    assert.equal(made.headers.get('location'), `${gateway.url}/scim/v2/Users/${id}`)
    assert.deepEqual([made.body.active, made.body.userName, made.body.password], [true, 'alice@example.com', undefined])
    const details = await detailsOf(gateway, 'alice')
    assert.deepEqual(
      [details.source, details.email, details.display_name, details.role],
      ['scim', 'alice@example.com', 'alice Example', 'user']
    )

    const again = await send('POST', '/Users', person('ALICE'))
    assert.deepEqual([again.status, again.body.scimType, again.body.status], [409, 'uniqueness', '409'])
    await add('/Users', person('bob', { active: false }))
    for (const [filter, names] of [
      ['userName eq "Alice@Example.COM"', ['alice@example.com']],
      ['externalId eq "ext-1"', ['alice@example.com']],
      ['externalId eq "EXT-1"', []],
      [`id eq "${id}" and active eq true`, ['alice@example.com']],
      ['emails[type eq "work" and value sw "bob"]', ['bob@example.com']],
      ['emails eq "bob@example.com"', ['bob@example.com']],
      ['active eq false or userName sw "ali"', ['alice@example.com', 'bob@example.com']],
      ['id eq "not an id"', []]
    ] as const) {
      assert.deepEqual(
        (await find('/Users', filter)).map(({ userName }) => userName),
        names,
        filter
      )
    }
    const page = await send('GET', '/Users?startIndex=2&count=1&attributes=userName')
    assert.deepEqual([page.body.totalResults, page.body.startIndex, page.body.itemsPerPage], [2, 2, 1])
    assert.deepEqual(Object.keys(page.body.Resources[0]).toSorted(), ['id', 'meta', 'schemas', 'userName'])

    const changed = await patch(
      `/Users/${id}`,
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'a@example.com' },
      { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '123' },
      { op: 'Add', path: `${ENTERPRISE}:department`, value: 'y' },
      { op: 'replace', value: { 'name.givenName': 'Ally', displayName: 'Ally E' } }
    )
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    assert.deepEqual(
      [changed.body.name.givenName, changed.body.phoneNumbers],
      ['Ally', [{ type: 'mobile', value: '123' }]]
    )
    assert.equal((await detailsOf(gateway, 'alice')).email, 'a@example.com')
    const replaced = await send('PUT', `/Users/${id}`, person('alice.new', { externalId: 'ext-1' }))
    assert.deepEqual([replaced.body.userName, replaced.body.displayName], ['alice.new@example.com', undefined])
    assert.equal((await send('DELETE', `/Users/${id}`)).status, 204)
    assert.equal((await send('GET', `/Users/${id}`)).status, 404)
    assert.equal((await gateway.api('GET', '/users/alice')).status, 404)
  })
}

for (const engine of someFor('groups', engines)) {
  test(`IA-43 groups become groups of users, replace those of the sign-in, and give roles at once (${engine})`, async (t) => {
    const { gateway, add, patch, send, find } = await start(t, {
      engine,
      env: { TOWPATH_OIDC_ADMIN_GROUPS: 'platform' }
    })
    await signIn(createBrowser(), `${gateway.url}/auth/login`, 'bob')
    const alice = await add('/Users', person('alice'))
    await signIn(createBrowser(), `${gateway.url}/auth/login`, 'alice')
    assert.deepEqual((await detailsOf(gateway, 'alice')).groups.toSorted(), ['dev', 'sre'], 'groups of the provider')

    const sre = await add('/Groups', { schemas: [GROUP], displayName: 'sre', members: [] })
    assert.deepEqual((await detailsOf(gateway, 'alice')).groups, ['dev'], 'the SCIM client decides who is in its group')
    const platform = await add('/Groups', { schemas: [GROUP], displayName: 'platform', members: [{ value: alice }] })
    const details = await detailsOf(gateway, 'alice')
    assert.deepEqual([details.groups, details.role], [['dev', 'platform'], 'admin'])
    assert.equal((await patch(`/Groups/${sre}`, { op: 'Add', path: 'members', value: [{ value: alice }] })).status, 204)
    await signIn(createBrowser(), `${gateway.url}/auth/login`, 'alice')
    assert.deepEqual((await detailsOf(gateway, 'alice')).groups.toSorted(), ['dev', 'platform', 'sre'])
    const shown = await send('GET', `/Users/${alice}`)
    assert.deepEqual(
      shown.body.groups.map(({ display }: { display: string }) => display),
      ['platform', 'sre']
    )

    assert.equal((await find('/Groups', `id eq "${sre}" and members eq "${alice}"`)).length, 1)
    assert.equal((await find('/Groups', `members[value eq "${alice}"] and displayName sw "pl"`)).length, 1)
    const listed = await send('GET', '/Groups?excludedAttributes=members')
    assert.deepEqual(
      listed.body.Resources.map((group: object) => 'members' in group),
      [false, false]
    )
    assert.equal(
      (await patch(`/Groups/${platform}`, { op: 'Remove', path: `members[value eq "${alice}"]` })).status,
      204
    )
    assert.equal((await detailsOf(gateway, 'alice')).role, 'user', 'the role goes with the group')
    assert.equal((await patch(`/Groups/${sre}`, { op: 'replace', value: { displayName: 'site' } })).status, 204)
    assert.deepEqual((await detailsOf(gateway, 'alice')).groups, ['dev', 'site'])
    assert.equal((await send('DELETE', `/Groups/${sre}`)).status, 204)
    assert.deepEqual((await detailsOf(gateway, 'alice')).groups, ['dev'])
    const bob = (await detailsOf(gateway, 'bob')).groups
    assert.deepEqual(bob, ['sales'], 'users whom the client does not manage keep their groups')
    for (const [path, body, scimType] of [
      ['/Groups', { displayName: 'platform' }, 'uniqueness'],
      ['/Groups', { displayName: 'x', members: [{ value: 'nobody' }] }, 'invalidValue'],
      ['/Groups', { displayName: 'y', members: [{}] }, 'invalidValue'],
      ['/Groups', { members: [] }, 'invalidValue']
    ] as const) {
      const refused = await send('POST', path, { schemas: [GROUP], ...body })
      assert.equal(refused.body.scimType, scimType, JSON.stringify(refused.body))
    }
  })
}

for (const off of [
  { op: 'replace', path: 'active', value: false },
  { op: 'Replace', path: 'active', value: 'False' },
  { op: 'replace', value: { active: false } }
]) {
  test(`IA-43 deactivation by ${JSON.stringify(off)} ends everything that the user has open`, async (t) => {
    const { gateway, add, patch } = await start(t)
    const id = await add('/Users', person('alice'))
    const { tokens, refresh, browser } = await connectClient(gateway)
    const used = async () => (await listTools(gateway, tokens.access_token)).status
    assert.equal(await used(), 200)
    const answer = await patch(`/Users/${id}`, off)
    assert.deepEqual([answer.status, answer.body.active], [200, false], JSON.stringify(answer.body))
    await until('the token to be refused', async () => (await used()) === 401)
    assert.equal((await refresh()).status, 400)
    assert.equal((await browser.open(`${gateway.url}/api/v0/me`)).status, 401)
    const refused = await signIn(createBrowser(), `${gateway.url}/auth/login`, 'alice')
    assert.deepEqual([refused.status, /suspended/.test(refused.text)], [403, true])
    assert.equal((await patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true })).status, 200)
    assert.equal(await used(), 401, 'what has ended stays so')
    await connectClient(gateway)
  })
}

test('changes of one user at the same time do not undo each other', async (t) => {
  const { add, patch, send } = await start(t)
  const id = await add('/Users', person('alice'))
  const answers = await Promise.all([
    patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }),
    ...['a', 'b', 'c'].map((value) => patch(`/Users/${id}`, { op: 'add', path: 'displayName', value })),
    patch(`/Users/${id}`, { op: 'add', path: 'title', value: 'Dr' })
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    Array(5).fill(200)
  )
  const { active, title, displayName } = (await send('GET', `/Users/${id}`)).body
  assert.deepEqual([active, title, ['a', 'b', 'c'].includes(displayName as string)], [false, 'Dr', true])
})

test('with provisioning by SCIM, only users that the client has created sign in, by external id or verified address', async (t) => {
  const { gateway, add, idp } = await start(t, { env: { TOWPATH_OIDC_PROVISION: 'scim' } })
  const open = (name: string) => signIn(createBrowser(), `${gateway.url}/auth/login`, name)
  const refused = await open('alice')
  assert.deepEqual([refused.status, /must be assigned to this gateway/.test(refused.text)], [403, true])
  await add('/Users', person('someone', { externalId: 'alice' }))
  assert.match((await open('alice')).text, /You are signed in[\s\S]*someone/)
  await add('/Users', person('Bob', { userName: 'b.example' }))
  idp.people.set('bob', { ...idp.people.get('bob')!, email_verified: false })
  assert.equal((await open('bob')).status, 403, 'an address that nobody has verified proves nothing')
  idp.people.set('bob', { ...idp.people.get('bob')!, email_verified: true })
  assert.match((await open('bob')).text, /You are signed in[\s\S]*b-example/)
  assert.match((await open('bob')).text, /You are signed in[\s\S]*b-example/)
})

test('a user who has signed in is taken over by the external id, other users are out of reach', async (t) => {
  const { gateway, add, send, find } = await start(t)
  await signIn(createBrowser(), `${gateway.url}/auth/login`, 'alice')
  await gateway.api('POST', '/users', { name: 'dev' })
  assert.deepEqual(await find('/Users', 'userName pr'), [])
  const id = await add('/Users', person('alice', { externalId: 'alice' }))
  const { body } = await gateway.api('GET', '/users')
  assert.deepEqual(
    body.map(({ name }: { name: string }) => name),
    ['admin', 'alice', 'dev']
  )
  assert.equal((await detailsOf(gateway, 'alice')).source, 'scim')
  assert.equal((await send('POST', '/Users', person('alice2', { externalId: 'alice' }))).status, 201)
  assert.equal((await gateway.api('GET', '/users/alice2')).status, 200, 'a managed user is not taken over again')
  assert.equal((await gateway.api('POST', '/users/alice2/invite', {})).status, 409)
  assert.equal((await send('DELETE', `/Users/${id}`)).status, 204)
})

test('IA-42 the last administrator can neither be deactivated nor removed nor lose the role by SCIM', async (t) => {
  const { gateway, add, patch, send } = await start(t, { env: { TOWPATH_OIDC_ADMIN_GROUPS: 'platform' } })
  const id = await add('/Users', person('alice'))
  const platform = await add('/Groups', { schemas: [GROUP], displayName: 'platform', members: [{ value: id }] })
  const browser = createBrowser()
  await signIn(browser, `${gateway.url}/auth/login`, 'alice')
  const issued = await gateway.api('PUT', '/users/alice', {})
  assert.equal(issued.status, 200)
  assert.equal((await gateway.api('DELETE', '/users/admin')).status, 204)
  const refusals = [
    await patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false }),
    await send('PUT', `/Users/${id}`, person('alice', { active: false })),
    await send('DELETE', `/Users/${id}`),
    await patch(`/Groups/${platform}`, { op: 'remove', path: 'members' }),
    await patch(`/Groups/${platform}`, { op: 'replace', path: 'displayName', value: 'other' }),
    await send('DELETE', `/Groups/${platform}`)
  ]
  assert.deepEqual(
    refusals.map(({ status }) => status),
    Array(6).fill(409)
  )
  const headers = { authorization: `Bearer ${issued.body.access_token as string}` }
  const account = (await (await fetch(`${gateway.url}/api/v0/me`, { headers })).json()) as { role: string }
  assert.equal(account.role, 'admin')
})

test('IA-43 a wrong token is refused everywhere, and bodies, filters and operations are bounded', async (t) => {
  const { gateway, send, add, patch } = await start(t)
  for (const path of ['/Users', '/Groups', '/ServiceProviderConfig', '/ResourceTypes', '/Schemas', '/Users/x']) {
    const refused = await send('GET', path, undefined, 'a-wrong-token-0123456789')
    assert.deepEqual([refused.status, refused.body.status], [401, '401'], path)
    assert.equal((await fetch(`${gateway.url}/scim/v2${path}`)).status, 401)
  }
  const id = await add('/Users', person('alice'))
  const filters = [
    'userName',
    'userName zz "x"',
    'a pr and '.repeat(60) + 'a pr',
    '('.repeat(300),
    'x'.repeat(513),
    `${'(a pr or b pr) and '.repeat(20)}a pr`
  ]
  for (const filter of filters) {
    const refused = await send('GET', `/Users?${new URLSearchParams({ filter }).toString()}`)
    assert.deepEqual([refused.status, refused.body.scimType], [400, 'invalidFilter'], filter)
  }
  const many = (count: number) => Array.from({ length: count }, (_, i) => ({ value: `${i}@example.com` }))
  for (const [body, status, type] of [
    [person('x', { emails: many(21) }), 400, 'tooMany'],
    [person('x', { displayName: 'x'.repeat(257) }), 400, 'invalidValue'],
    [person('x', { title: 'x'.repeat(20_000) }), 400, 'tooMany'],
    [person('x', { title: 'x'.repeat(70_000) }), 413, undefined],
    [person('x', { active: 'perhaps' }), 400, 'invalidValue'],
    [{ schemas: [USER] }, 400, 'invalidValue'],
    ['{"userName":"x","__proto__":{}}', 400, undefined],
    ['[]', 400, undefined]
  ] as const) {
    const refused = await send('POST', '/Users', body)
    assert.deepEqual([refused.status, refused.body.scimType], [status, type], JSON.stringify(refused.body))
  }
  for (const [operation, type] of [
    [{ op: 'zap' }, 'invalidSyntax'],
    [{ op: 'add', path: 'foo', value: 1 }, 'invalidPath'],
    [{ op: 'remove', path: 'userName' }, 'invalidValue'],
    [{ op: 'add', path: 'emails', value: many(30) }, 'tooMany'],
    [{ op: 'replace', path: `emails[${'(a pr or b pr) and '.repeat(20)}a pr].value`, value: 'x' }, 'invalidFilter']
  ] as const) {
    const refused = await patch(`/Users/${id}`, operation)
    assert.deepEqual([refused.status, refused.body.scimType], [400, type], JSON.stringify(refused.body))
  }
  const config = await send('GET', '/ServiceProviderConfig')
  assert.deepEqual([config.body.patch.supported, config.body.bulk.supported], [true, false])
  assert.deepEqual(
    (await send('GET', '/Schemas')).body.Resources.map((each: { id: string }) => each.id),
    [USER, GROUP]
  )
  assert.equal((await send('GET', `/Schemas/${GROUP}`)).body.name, 'Group')
  assert.equal((await send('GET', '/ResourceTypes/User')).body.endpoint, '/Users')
})

test('without a SCIM token there are no SCIM routes', async (t) => {
  const { url } = await startSignInGateway(t)
  const answer = await fetch(`${url}/scim/v2/Users`, { headers: { authorization: `Bearer ${TOKEN}` } })
  assert.equal(answer.status, 401)
})
