import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { addRecorder, startMcp } from './mcp-helpers.ts'
import { until } from '../until.ts'

/** Returns an array that fills this percentage of the heap. */
const fill = (percent: number): number[] =>
  new Array<number>(Math.floor((getHeapStatistics().heap_size_limit * percent) / 100 / 8)).fill(0.5)

function percentInUse(): number {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  return Math.ceil((100 * used) / limit)
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

test('with a full heap new work is refused, health and what is under way go on; then all goes on', async (t) => {
  const lines: string[] = []
  collectGarbage()
  const env = { TOWPATH_HEAP_PERCENT: String(percentInUse() + 5), OTEL_ENABLED: 'on' }
  const mcp = await startMcp(t, env, { log: { write: (line) => lines.push(line) } })
  const upstream = await addRecorder(t, mcp, 'alpha')
  const status = async (url: string) => (await mcp.app.inject(url)).statusCode
  const session = await mcp.initialize('2025-03-26')
  const call = mcp.modern('tools/call', { name: 'alpha__slow', arguments: { ms: 6_000 } })
  await until('the call upstream', () => upstream.calls('tools/call').length === 1)

  // how much is collected meanwhile is not known, so the heap is filled until the gateway refuses
  const ballast: number[][] = []
  await until('too much', async () => {
    if (lines.some((line) => line.includes('new work is refused'))) return true
    if (ballast.length < 50) ballast.push(fill(ballast.length === 0 ? 6 : 1))
    await setTimeout(700)
    return false
  })
  assert.deepEqual([await status('/health'), await status('/metadata'), await status('/ready')], [200, 200, 503])
  const metrics = await Promise.all(Array.from({ length: 20 }, async () => (await mcp.app.inject('/metrics')).body))
  for (let i = 0; i < 5; i++) metrics.push((await mcp.app.inject('/metrics')).body)
  assert.match(metrics[0]!, /towpath_/, 'there are metrics')
  assert.equal(new Set(metrics).size, 1, 'SR-H2: they are made once for all who ask')
  const refused = await mcp.app.inject('/api/v0/tools')
  assert.deepEqual(
    [refused.statusCode, refused.headers['retry-after'], refused.json()],
    [503, '1', { error: 'the gateway is overloaded; try again later' }]
  )
  assert.equal((await mcp.modern('tools/list')).status, 503)
  const answer = '{"jsonrpc":"2.0","id":"1","result":{}}'
  const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  for (const body of [answer, cancel, `[${answer},${cancel}]`]) {
    assert.equal((await mcp.send(body, session)).status, 202, `it finishes what is under way: ${body}`)
    assert.equal((await mcp.send(body)).status, 503, 'who has no session has nothing under way')
  }
  for (const body of [ping, `[${answer},${ping}]`, '{', '[]']) {
    const { status: late, text } = await mcp.send(body, session)
    assert.deepEqual([late, JSON.parse(text)], [503, refused.json()], body)
  }
  const { status: answered, body } = await call
  assert.deepEqual([answered, body.error], [200, undefined])

  assert.notEqual(ballast.length, 0)
  ballast.length = 0
  // V8 itself collects within ten seconds if little happens
  collectGarbage()
  await until('work to be taken again', () => lines.some((line) => line.includes('accepting new work')))
  assert.deepEqual([await status('/ready'), (await mcp.modern('tools/list')).status], [200, 200])
})
