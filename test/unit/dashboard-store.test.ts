import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, type Answer } from '../../dashboard/src/api.ts'
import { createStore, source, type Fetch } from '../../dashboard/src/store.ts'

interface PendingRequest {
  readonly path: string
  readonly etag: string | undefined
  readonly answer: (body: unknown, etag?: string, status?: number) => void
  readonly fail: (status: number) => void
}

/** Returns a gateway that responds when the test says so. */
function slowGateway() {
  const asked: PendingRequest[] = []
  const fetch = (<T>(_method: string, path: string, { etag }: { etag?: string }) =>
    new Promise<Answer<T>>((resolve, reject) => {
      const answer = (body: unknown, tag?: string, status = 200) => resolve({ status, etag: tag, body: body as T })
      asked.push({ path, etag, answer, fail: (status) => reject(new ApiError(status, `no: ${status}`)) })
    })) as Fetch
  return { asked, store: createStore(fetch) }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const servers = source<{ names: string[] }>('/servers', ['servers'])
const calls = source<{ ids: number[] }>('/calls', ['calls'])

test('what is watched loads at once, and again for its own kinds only', async () => {
  const { asked, store } = slowGateway()
  const stop = store.watch(servers)
  store.watch(calls)
  asked[0]!.answer({ names: ['a'] })
  asked[1]!.answer({ ids: [1] })
  await settled()
  assert.deepEqual(store.open(servers).data.value, { names: ['a'] })

  void store.refresh(new Set(['calls', 'tools']))
  assert.deepEqual(
    asked.slice(2).map(({ path }) => path),
    ['/calls']
  )
  stop()
  void store.refresh()
  assert.equal(asked.filter(({ path }) => path === '/servers').length, 1)
})

test('the tag of an answer goes with the next question, and 304 keeps the very same data', async () => {
  const { asked, store } = slowGateway()
  store.watch(servers)
  asked[0]!.answer({ names: ['a'] }, '"1"')
  await settled()
  const { data, checkedAt } = store.open(servers)
  const before = data.value
  const checked = checkedAt.value

  void store.refresh()
  assert.equal(asked[1]!.etag, '"1"')
  asked[1]!.answer(undefined, undefined, 304)
  await settled()
  assert.equal(data.value, before)
  assert.ok(checkedAt.value >= checked)
})

test('after a failure the old data stays beside the reason, until a request works', async () => {
  const { asked, store } = slowGateway()
  store.watch(servers)
  asked[0]!.answer({ names: ['a'] })
  await settled()
  const { data, error, loading } = store.open(servers)

  void store.refresh()
  assert.equal(loading.value, true)
  asked[1]!.fail(503)
  await settled()
  assert.deepEqual([data.value, error.value?.status, loading.value], [{ names: ['a'] }, 503, false])
  assert.equal(store.reachable.value, true)

  void store.refresh()
  asked[2]!.fail(0)
  await settled()
  assert.equal(store.reachable.value, false)
  void store.refresh()
  asked[3]!.answer({ names: ['b'] })
  await settled()
  assert.deepEqual([data.value, error.value, store.reachable.value], [{ names: ['b'] }, undefined, true])
})

test('changes that come while a request is out make one more, not many', async () => {
  const { asked, store } = slowGateway()
  store.watch(servers)
  for (let times = 0; times < 5; times++) void store.refresh()
  assert.equal(asked.length, 1)
  asked[0]!.answer({ names: ['old'] })
  await settled()
  assert.equal(asked.length, 2)
  asked[1]!.answer({ names: ['new'] })
  await settled()
  assert.deepEqual(store.open(servers).data.value, { names: ['new'] })
  assert.equal(asked.length, 2)
})

test('what a page shows before the gateway has confirmed it is replaced by the next answer', async () => {
  const { asked, store } = slowGateway()
  store.watch(servers)
  asked[0]!.answer({ names: ['a'] }, '"1"')
  await settled()
  const resource = store.open(servers)
  resource.patch(({ names }) => ({ names: [...names, 'b'] }))
  assert.deepEqual(resource.data.value, { names: ['a', 'b'] })
  void store.refresh()
  assert.equal(asked[1]!.etag, undefined)
  asked[1]!.answer({ names: ['a'] })
  await settled()
  assert.deepEqual(resource.data.value, { names: ['a'] })
})

test('an answer to what was asked before a page showed a change does not take it back', async () => {
  const { asked, store } = slowGateway()
  store.watch(servers)
  asked[0]!.answer({ names: ['a'] })
  await settled()
  const resource = store.open(servers)
  void store.refresh()
  resource.patch(({ names }) => ({ names: [...names, 'b'] }))
  asked[1]!.answer({ names: ['a'] }, '"old"')
  await settled()
  assert.deepEqual(resource.data.value, { names: ['a', 'b'] })
  assert.equal(asked[2]!.etag, undefined)
  asked[2]!.answer({ names: ['a', 'b', 'c'] })
  await settled()
  assert.deepEqual([resource.data.value, asked.length], [{ names: ['a', 'b', 'c'] }, 3])
})

test('what was answered before anybody told of changes is asked for again, what is still out is not', async () => {
  const { asked, store } = slowGateway()
  store.watch(servers)
  store.watch(calls)
  asked[0]!.answer({ names: ['a'] })
  await settled()
  void store.catchUp()
  assert.deepEqual(
    asked.map(({ path }) => path),
    ['/servers', '/calls', '/servers']
  )
  asked[1]!.answer({ ids: [] })
  await settled()
  assert.equal(asked.length, 3)
})

test('answers that nobody watches are forgotten, the longest unused first', async () => {
  const { asked, store } = slowGateway()
  store.watch(servers)
  asked[0]!.answer({ names: ['a'] })
  await settled()
  const first = store.open(source('/x/0', []))
  for (let at = 1; at < 60; at++) store.open(source(`/x/${at}`, []))
  assert.notEqual(store.open(source('/x/0', [])), first)
  assert.deepEqual(store.open(servers).data.value, { names: ['a'] })
})

test('what is being ended is not asked for meanwhile, nor afterwards by who still shows it', async () => {
  const { asked, store } = slowGateway()
  const stop = store.watch(servers)
  asked[0]!.answer({ names: ['a'] })
  await settled()
  const shown = store.open(servers)
  const done = await store.whileDeleting(servers, async () => {
    await store.refresh()
    return 'done'
  })
  await Promise.all([store.refresh(), settled()])
  assert.deepEqual([done, asked.length, shown.data.value], ['done', 1, { names: ['a'] }])

  const again = store.watch(servers)
  assert.equal(asked.length, 2)
  stop()
  void store.refresh()
  asked[1]!.answer({ names: [] })
  await settled()
  assert.equal(asked.length, 3, 'who came afterwards is kept up to date')
  again()
})

test('what could not be ended is asked for again', async () => {
  const { asked, store } = slowGateway()
  store.watch(servers)
  asked[0]!.answer({ names: ['a'] })
  await settled()
  await assert.rejects(store.whileDeleting(servers, () => Promise.reject(new ApiError(503, 'busy'))))
  void store.refresh()
  assert.equal(asked.length, 2)
})
