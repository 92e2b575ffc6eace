import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useConfiguration } from './client-config.ts'
import { skip, startEnterprise } from './enterprise.ts'
import { root, startGateway } from './harness.ts'
import { blocksOf, follow, readPage } from './pages.ts'

const add = { name: 'demo__add', arguments: { a: 2, b: 40 } }

/** Pages for a development-mode gateway on which only the demo server is registered, before and after. */
for (const path of ['README.md', 'docs/how-to/tool-groups.md']) {
  test(`the commands of ${path} work one after the other and give the answers that it shows`, async (t) => {
    const gateway = await startGateway(t, { args: ['--demo'] })
    const blocks = blocksOf(readPage(path))
    assert.ok(blocks.length > 5)
    await follow(t, blocks, {
      cwd: root,
      places: [['http://localhost:8080', gateway.url]],
      async onClient(configuration) {
        for (const { by, result } of await useConfiguration(t, configuration, add)) {
          assert.deepEqual([by, result.structuredContent], [by, { sum: 42 }])
        }
      }
    })
    const left = await gateway.get('/api/v0/servers')
    assert.deepEqual(left.body.length, 1, left.text)
  })
}

test(
  'the commands of docs/how-to/users-and-clients.md work and give the answers that it shows',
  { skip },
  async (t) => {
    const gateway = await startEnterprise(t)
    await gateway.admin.post('/api/v0/servers', {
      name: 'demo',
      transport: 'stdio',
      command: process.execPath,
      args: ['--import', import.meta.resolve('tsx'), `${root}/src/demo/server.ts`]
    })
    await follow(t, blocksOf(readPage('docs/how-to/users-and-clients.md')), {
      cwd: root,
      env: { ADMIN_TOKEN: gateway.tokens.admin },
      places: [['http://localhost:8080', gateway.url]]
    })
  }
)
