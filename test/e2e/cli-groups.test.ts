import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import { commandLine } from './cli.ts'
import { startGateway } from './harness.ts'

const secret = 'LOCKED-SECRET-of-send'
const sendTool = {
  name: 'send',
  description: 'Sends a text.',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      token: { type: 'string' },
      account: { type: 'integer' },
      format: { type: 'string', enum: ['plain', 'html', 'rich'] }
    },
    required: ['text', 'token', 'account']
  }
}
const variable = 'TOWPATH_LOCK_G_B_SEND_TOKEN'
const overrides = {
  b__send: {
    name: 'tell',
    title: 'Tell',
    description: 'Tells ${HOME} something.',
    annotations: { destructiveHint: false },
    arguments: {
      token: { lock: { secret } },
      account: { lock: 9_007_199_254_740_991 },
      format: { enum: ['plain', 'html'], default: 'plain', description: 'How' }
    }
  }
}

/** Starts a gateway with a group that locks a secret. */
async function start(t: TestContext) {
  const gateway = await startGateway(t)
  const recorder = await startRecorder(null, { extraTools: [sendTool] })
  addCleanup(t, recorder.close)
  await gateway.register({ name: 'b', transport: 'streamable_http', url: recorder.url })
  const group = {
    ...{ name: 'g', included_servers: ['b'], instructions: 'Be brief.', max_tokens: 5_000, max_result_tokens: 900 },
    ...{ tool_list: 'search', always_listed: ['b__send'], search_limit: 7, tools: overrides }
  }
  const made = await gateway.post('/api/v0/tool-groups', group)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const cli = await commandLine(t, { TOWPATH_REGISTRY: gateway.url })
  const stored = async () => (await gateway.get('/api/v0/tool-groups/g')).body as Record<string, unknown>
  /** Calls the tool and returns the arguments that the server got. */
  const sent = async () => {
    const params = { name: 'tell', arguments: { text: 'x' } }
    await fetch(`${gateway.url}/v0/groups/g/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    }).then((response) => response.text())
    return (recorder.calls('tools/call').at(-1)?.params as { arguments: unknown } | undefined)?.arguments
  }
  const exported = async (name: string) => {
    const folder = join(cli.home, name)
    const { code, err } = await cli(['export', '-d', folder])
    assert.equal(code, 0, err)
    return { folder, text: await readFile(join(folder, 'groups/g.json'), 'utf8') }
  }
  return { gateway, cli, stored, sent, exported }
}

test('VS-02 overrides with a locked secret are exported with a reference, and applied with the variable', async (t) => {
  const { gateway, cli, stored, sent, exported } = await start(t)
  const expected = { text: 'x', token: secret, account: 9_007_199_254_740_991, format: 'plain' }
  assert.deepEqual(await sent(), expected)
  const before = await stored()
  const { folder, text } = await exported('first')
  assert.match(text, new RegExp(`"secret": "\\$\\{${variable}\\}"`))
  assert.doesNotMatch(text, new RegExp(`${secret}|\\*\\*\\*`))
  const example = await readFile(join(folder, 'secrets.env.example'), 'utf8')
  assert.match(example, new RegExp(`^${variable}=$`, 'm'))
  const env: Record<string, string> = {
    [variable]: secret,
    ...Object.fromEntries(example.split('=\n').map((name) => [name, secret]))
  }
  env['GROUP_G_TOOLS_B_SEND_DESCRIPTION'] = 'Tells ${HOME} something.'

  const unset = await cli(['apply', '-f', folder], { env: { [variable]: undefined } })
  assert.deepEqual([unset.code, unset.err.includes(variable)], [2, true], unset.err)
  const same = await cli(['apply', '-f', folder], { env })
  assert.equal(same.code, 0, same.err)
  assert.match(same.err, /no changes/)

  const other = await cli(['apply', '-f', folder], { env: { ...env, [variable]: 'ANOTHER-SECRET' } })
  assert.equal(other.code, 0, other.err)
  assert.doesNotMatch(other.out + other.err, /ANOTHER-SECRET|LOCKED-SECRET/)
  assert.deepEqual(await sent(), { ...expected, token: 'ANOTHER-SECRET' })

  assert.equal((await cli(['delete', 'group', 'g'])).code, 0)
  const again = await cli(['apply', '-f', folder], { env })
  assert.deepEqual([again.code, again.out], [0, '+ group g\n'], again.err)
  assert.deepEqual(await stored(), before)
  assert.deepEqual(await sent(), expected)
  assert.equal((await exported('second')).text, text)
  assert.equal((await gateway.get('/api/v0/tool-groups')).status, 200)
})

test('VS-01 flags of update change their members alone, and keep the other overrides and the secret', async (t) => {
  const { cli, stored, sent } = await start(t)
  const before = await stored()
  for (const [args, change] of [
    [['--max-tokens', '6000'], { max_tokens: 6_000 }],
    [['--search-limit', '8'], { search_limit: 8 }],
    [['--instructions', 'Be kind.'], { instructions: 'Be kind.' }]
  ] as const) {
    const { code, err } = await cli(['update', 'group', 'g', ...args])
    assert.equal(code, 0, err)
    Object.assign(before, change)
    assert.deepEqual(await stored(), before)
  }
  const renamed = await cli(['update', 'group', 'g', '--rename', 'b__send=say', '--rename', 'b__echo=repeat'])
  assert.equal(renamed.code, 0, renamed.err)
  const { tools } = (await stored()) as { tools: Record<string, { name: string; arguments: unknown }> }
  assert.deepEqual([tools['b__send']!.name, tools['b__echo']!.name], ['say', 'repeat'])
  assert.equal((await cli(['update', 'group', 'g', '--rename', 'b__send=tell', '--rename', 'b__echo='])).code, 0)
  assert.deepEqual(await stored(), before)
  assert.equal(((await sent()) as { token: string }).token, secret)
})

test('numbers that would be rounded are refused before anything is sent, in JSON and YAML', async (t) => {
  const { cli, stored } = await start(t)
  const before = await stored()
  const numbers = ['9007199254740993', '-9007199254740993', '0.12345678901234567890123', '1e400']
  const check = async (name: string, text: string, isFine = false) => {
    const file = join(cli.home, name)
    await writeFile(file, text)
    for (const args of [
      ['apply', '-f', file],
      ['update', 'group', 'g', '-c', file]
    ]) {
      const { code, err } = await cli(args)
      if (isFine) assert.equal(code, 0, err)
      else assert.match(err, /a number that is too large, or has too many digits/, `${args[0]} ${text}`)
      if (!isFine) assert.equal(code, 2)
    }
    if (!isFine) assert.deepEqual(await stored(), before)
  }
  const json = (number: string) =>
    `{"name":"g","included_servers":["b"],"tools":{"b__send":{"arguments":{"account":{"lock":${number}}}}}}`
  const yaml = (number: string) =>
    `name: g\nincluded_servers: [b]\ntools: {b__send: {arguments: {account: {lock: ${number}}}}}\n`
  for (const number of numbers) {
    await check('g.json', json(number))
    await check('g.yaml', yaml(number))
  }
  for (const number of ['0x20000000000001', '.inf', '.nan']) await check('g.yaml', yaml(number))
  await check('g.json', json('9007199254740991'), true)
  await check('g.yaml', yaml('-9007199254740991'), true)
})
