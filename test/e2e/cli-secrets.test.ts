import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { registrationOf, startUpstream } from './upstream.ts'
import { commandLine } from './cli.ts'
import { startEnterprise } from './enterprise.ts'
import { root } from './harness.ts'

const good = join(root, 'test/fixtures/stdio/good.mjs')
const sentinels = ['SENT-of-the-query', 'SENT-of-the-flag']
const leaks = (text: string) => sentinels.filter((secret) => text.includes(secret))

test('CR-A1: secrets in the query of a URL and behind flags are in nothing that the command line shows or exports', async (t) => {
  const gateway = await startEnterprise(t, { engine: 'pglite' })
  const { url } = await startUpstream(t, 'http')
  await gateway.register(registrationOf('http', { url: `${url}?api_key=${sentinels[0]}` }))
  const args = [good, '--api-key', sentinels[1], `--token=${sentinels[1]}`]
  await gateway.register({ name: 'stdio', transport: 'stdio', command: process.execPath, args })
  for (const token of [gateway.tokens.admin, gateway.tokens.user]) {
    const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url, TOWPATH_TOKEN: token })
    for (const command of [
      ['list', 'servers'],
      ['get', 'server', 'http'],
      ['get', 'server', 'stdio']
    ]) {
      for (const format of ['table', 'wide', 'json', 'yaml', 'name']) {
        const { code, out, err } = await cli([...command, '-o', format])
        assert.equal(code, 0, `${command.join(' ')} -o ${format}: ${err}`)
        assert.deepEqual(leaks(out + err), [], `${command.join(' ')} -o ${format}`)
      }
    }
  }
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url, TOWPATH_TOKEN: gateway.tokens.admin })
  const folder = join(cli.home, 'exported')
  const { code, out, err } = await cli(['export', '-d', folder])
  assert.equal(code, 0, err)
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
  const texts = await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8')))
  assert.ok(
    texts.length >= 2 && /\$\{\w+\}/.test(texts.join('')),
    `references stand in the place of secrets: ${texts.join('')}`
  )
  assert.deepEqual(leaks(texts.join('\n') + out + err), [], 'an export refers to secrets')
})
