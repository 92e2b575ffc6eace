import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClientDocuments, DOCUMENT_LIFE } from '../../src/authorization-server/client-documents.ts'

const URL_A = 'https://client.test/a.json'
const HOUR = 3_600_000
const DAY = 24 * HOUR

const documentOf = (url: string) => ({
  client_id: url,
  client_name: 'A client',
  redirect_uris: ['https://client.test/callback']
})

/** A host whose answers the test chooses, and a clock. */
function createWorld(hosts?: readonly string[]) {
  const asked: string[] = []
  const state = {
    // the cache takes 0 for no time
    now: 1,
    answer: async (url: string): Promise<Response> => Response.json(documentOf(url))
  }
  const documents = createClientDocuments({
    fetch: (url) => {
      asked.push(url)
      return state.answer(url)
    },
    hosts,
    redirectSchemes: [],
    now: () => state.now
  })
  return Object.assign(state, { asked, documents })
}

test('a document that is refused is not read again for a minute', async () => {
  const good = documentOf(URL_A)
  const bad: [answer: () => Response, problem: RegExp, isTemporary?: boolean][] = [
    [() => Response.json({ ...good, client_id: `${URL_A}?` }), /"client_id" must be exactly its URL/],
    [() => Response.json({ ...good, client_name: ' ' }), /"client_name" is missing/],
    [() => Response.json({ ...good, redirect_uris: ['http://client.test/'] }), /must be on a loopback host/],
    [() => Response.json({ ...good, redirect_uris: undefined }), /"redirect_uris" must be an array/],
    [() => Response.json([good]), /not a JSON object/],
    [() => new Response('<html>'), /not JSON/],
    [() => new Response(null, { status: 302, headers: { location: URL_A } }), /status is 302/],
    [() => new Response(null, { status: 404 }), /status is 404/],
    [() => new Response(null, { status: 503 }), /status is 503/, true],
    [() => assert.fail('connect ECONNREFUSED 203.0.113.9'), /^it cannot be read$/, true]
  ]
  for (const [answer, problem, isTemporary = false] of bad) {
    const world = createWorld()
    world.answer = async () => answer()
    for (const now of [1, 2, 60_000]) {
      world.now = now
      const found = await world.documents.prepare(URL_A, '203.0.113.1')
      assert.match(found!.problem, problem)
      assert.equal(found!.isTemporary, isTemporary, found!.problem)
    }
    assert.equal(world.asked.length, 1, String(problem))
    world.answer = async () => Response.json(good)
    world.now = 60_002
    assert.equal(await world.documents.prepare(URL_A, '203.0.113.1'), undefined)
  }
})

test('IA-18 a document that cannot be read is used as it was, until a day after it was read', async () => {
  const world = createWorld()
  const { documents } = world
  assert.equal(await documents.prepare(URL_A, ''), undefined)
  world.answer = async () => new Response(null, { status: 500 })
  const last = DAY - (DOCUMENT_LIFE.min + 60) * 1_000
  for (const now of [HOUR, 12 * HOUR, last - 1]) {
    world.now = now
    assert.equal(await documents.prepare(URL_A, ''), undefined, String(now))
    const answer = await documents.open(URL_A, undefined)
    assert.deepEqual(await answer.json(), documentOf(URL_A))
    // so that the library uses it for the shortest time
    assert.equal(answer.headers.get('cache-control'), null)
  }
  world.now = last + 60_001
  assert.deepEqual(await documents.prepare(URL_A, ''), { problem: 'its status is 500', isTemporary: true })

  world.answer = async (url) => Response.json(documentOf(url))
  world.now += 60_001
  assert.equal(await documents.prepare(URL_A, ''), undefined)
  world.answer = async () => new Response(null, { status: 404 })
  world.now += 60_001
  assert.equal((await documents.prepare(URL_A, ''))!.isTemporary, false, 'the host says that it is gone')
})

test('ten documents are read at a time, three of them for one network, and one only once', async () => {
  const world = createWorld()
  const open: (() => void)[] = []
  world.answer = (url) => new Promise((resolve) => open.push(() => resolve(Response.json(documentOf(url)))))
  const prepare = (name: string, caller: string) => world.documents.prepare(`https://client.test/${name}`, caller)
  const isBusy = async (name: string, caller: string) => {
    const found = await prepare(name, caller)
    assert.deepEqual([/too many documents/.test(found!.problem), found!.isTemporary], [true, true])
  }
  const running = ['a', 'b', 'c'].map((name) => prepare(name, '2001:db8::1'))
  running.push(prepare('a', '2001:db8::1'), prepare('a', '203.0.113.1'))
  await isBusy('d', '2001:db8::ffff')
  for (let i = 0; i < 7; i++) running.push(prepare(`other ${i}`, `203.0.113.${i}`))
  await isBusy('d', '203.0.113.77')
  await assert.rejects(world.documents.open('https://client.test/jwks.json', undefined), /too many documents/)
  assert.equal(world.asked.length, 10)
  for (const finish of open) finish()
  assert.ok((await Promise.all(running)).every((problem) => problem === undefined))
  const late = prepare('d', '2001:db8::1')
  assert.equal(world.asked.length, 11, 'what was refused for being too many is not remembered')
  open.at(-1)!()
  assert.equal(await late, undefined)
})

test('hosts that are not listed and long URLs are not read', async () => {
  const world = createWorld(['client.test'])
  const { documents, asked } = world
  assert.match((await documents.prepare('https://other.test/a.json', ''))!.problem, /host are not allowed/)
  assert.match((await documents.prepare(`${URL_A}?${'x'.repeat(2_048)}`, ''))!.problem, /longer than 2048/)
  assert.equal(await documents.prepare('https://CLIENT.test/a.json', ''), undefined)
  assert.deepEqual(asked, ['https://CLIENT.test/a.json'])
})
