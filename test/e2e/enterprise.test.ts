import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addUpstream, skip, startEnterprise, startReplica } from './enterprise.ts'

const names = (list: { name: string }[]) => list.map(({ name }) => name)

test(
  'AZ-03 AZ-05 AZ-07 a client lists what its allow list holds, in both eras, on every replica',
  { skip },
  async (t) => {
    const gateway = await startEnterprise(t)
    await addUpstream(t, gateway, 'alpha')
    await addUpstream(t, gateway, 'beta')
    const replica = await startReplica(t, gateway)
    for (const { cliA, cliNone, cliAll } of [gateway, replica]) {
      for (const list of ['legacy', 'modern'] as const) {
        const tools = names((await cliA[list]('tools/list')).body.result.tools)
        assert.deepEqual(tools, ['alpha__echo', 'alpha__slow', 'alpha__whoami', 'alpha__fail'])
        assert.deepEqual(names((await cliA[list]('prompts/list')).body.result.prompts), ['alpha__greet'])
        assert.deepEqual((await cliNone[list]('tools/list')).body.result.tools, [])
        assert.equal((await cliAll[list]('tools/list')).body.result.tools.length, 8)
      }
    }
  }
)
