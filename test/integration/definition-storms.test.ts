import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { addRecorder, openStream, startMcp, type OpenStream } from './mcp-helpers.ts'
import { heldOf, rest, seen, type HeldItem } from './definition-helpers.ts'
import { until } from '../until.ts'

const extra = (name: string, description: string) => ({ name, description, inputSchema: { type: 'object' } })
const methods = ({ messages }: OpenStream) => (messages as { method?: string }[]).map(({ method }) => String(method))
const toolsChanged = 'notifications/tools/list_changed'

for (const policy of ['pin', 'block'] as const) {
  test(`a server that changes its definitions all the time is read seldom, shows nothing and disturbs no other: ${policy}`, async (t) => {
    const mcp = await startMcp(t, { TOWPATH_DEFINITIONS: policy })
    const noisy = await addRecorder(t, mcp, 'noisy', { tells: true, extraTools: [extra('steady', 'Steady')] })
    await addRecorder(t, mcp, 'quiet', { name: 'quiet' })
    const session = await mcp.initialize()
    const stream = await openStream(t, mcp.url, { headers: { ...session, accept: 'text/event-stream' } })
    await until('the gateway watches', () => noisy.streams() === 1)
    await wait(600)
    const before = noisy.calls('tools/list').length
    stream.messages.length = 0
    for (let n = 0; n < 300; n++) {
      noisy.setExtraTools([extra('steady', `STORM ${n}`), extra(`storm_${n}`, `STORM ${n}`)])
      await wait(10)
      if (n % 50 !== 0) continue
      const list = await mcp.legacy('tools/list')
      assert.doesNotMatch(list.text, /storm/i)
      const call = await mcp.legacy('tools/call', { name: 'quiet__echo', arguments: { text: 'hi' } })
      assert.ok(call.body.result && !call.body.result.isError, call.text)
    }
    const reads = noisy.calls('tools/list').length - before
    assert.ok(reads >= 1 && reads <= 8, `${reads} reads`)
    const held = await until('the last definitions are held', async () => {
      const found = await heldOf(mcp.app)
      return JSON.stringify(found).includes('storm_299') && found
    })
    assert.deepEqual(
      (held as HeldItem[]).map(({ name, state }) => [name, state]),
      [
        ['steady', 'changed'],
        ['storm_299', 'new']
      ]
    )
    const told = methods(stream).filter((method) => method === toolsChanged).length
    assert.equal(told, policy === 'pin' ? 0 : 1)
    assert.doesNotMatch(JSON.stringify(stream.messages), /storm/i)
    assert.equal((await rest(mcp.app, 'POST', '/definitions/accept', seen(held as HeldItem[]))).status, 204)
    await until(
      'what was accepted is told',
      () => methods(stream).filter((each) => each === toolsChanged).length > told
    )
    assert.match((await mcp.legacy('tools/list')).text, /noisy__storm_299/)
  })
}
