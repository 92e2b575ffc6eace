import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followReplicas } from '../../src/control/dashboard/remote-changes.ts'
import { addCleanup, engines } from '../store.ts'
import { addReplica, addServer, allowEverybody, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { ADMIN } from '../fixtures/identity-provider/gateway.ts'
import { needs } from '../needs.ts'
import { until } from '../until.ts'
import { signInWithToken } from './console-helpers.ts'

test(
  'CO-07 a page at one replica is told of calls, refusals and observed calls of another',
  { skip: needs('PostgreSQL', engines.includes('postgres')) },
  async (t) => {
    const first = await startSignInGateway(t, { engine: 'postgres', env: { TOWPATH_CONSOLE: 'on' } })
    const second = await addReplica(t, first)
    await addServer(t, first)
    await allowEverybody(first)
    const watch = { name: 'watch', effect: 'deny', mode: 'observe', targets: { servers: ['k8s'] } }
    assert.equal((await first.api('POST', '/policies', watch)).status, 201)
    await until('the other replica has both', async () => (await second.api('GET', '/policies')).body.length === 2)
    const headers = { cookie: await signInWithToken(first, ADMIN) }
    const stopping = new AbortController()
    addCleanup(t, () => stopping.abort())
    const stream = await fetch(`${first.url}/api/console/events`, { headers, signal: stopping.signal })
    assert.equal(stream.status, 200)
    let told = ''
    void stream
      .body!.pipeThrough(new TextDecoderStream())
      .pipeTo(new WritableStream({ write: (text) => void (told += text) }))
      .catch(() => {})
    const isTold = (kind: string) => until(`the page is told of ${kind}`, () => told.includes(`"${kind}"`))
    // the first look tells of everything
    await isTold('calls')
    told = ''
    assert.equal((await second.api('POST', '/tools/invoke', { name: 'k8s__echo', text: 'a' })).status, 200)
    await isTold('calls')
    await isTold('policies')
    told = ''
    assert.equal((await fetch(`${second.url}/api/v0/servers`)).status, 401)
    await isTold('audit')
  }
)

test('the database is asked for changes of other replicas only while a page is open, and one question at a time', async (t) => {
  const published: string[] = []
  let isWatched = false
  let asked = 0
  let answer = (_calls: string) => {}
  const { stop } = followReplicas({
    everyMs: 1,
    events: { publish: (...kinds) => void published.push(kinds.join()), isWatched: () => isWatched },
    newest: () => {
      asked++
      return new Promise((resolve, reject) => {
        answer = (calls) => {
          if (calls === '') reject(new Error('the database is gone'))
          else resolve({ calls, audit: null, approvals: null, policies: null })
        }
      })
    }
  })
  t.after(stop)
  let looks = 0
  const waiting = setInterval(() => looks++, 1)
  t.after(() => clearInterval(waiting))
  const pause = () => {
    const end = looks + 5
    return until('five more looks', () => looks >= end)
  }
  await pause()
  assert.equal(asked, 0)
  isWatched = true
  await until('it asks', () => asked === 1)
  await pause()
  assert.equal(asked, 1)
  for (const [calls, told] of [
    ['1', ['calls,audit,approvals,policies']],
    ['1', ['calls,audit,approvals,policies']],
    ['', ['calls,audit,approvals,policies']],
    ['2', ['calls,audit,approvals,policies', 'calls']]
  ] as const) {
    const before = asked
    answer(calls)
    await until('it asks again', () => asked === before + 1)
    assert.deepEqual(published, told)
  }
})
