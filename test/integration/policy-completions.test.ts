import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSession } from './mcp-helpers.ts'
import { as, startFiles, startPolicyGateway } from './policy-helpers.ts'

test('completions that can be read in two ways are refused where a policy decides, and else only those of two items', async (t) => {
  const { mcp, rest, agent, worker, policy } = await startPolicyGateway(t)
  const files = await startFiles(t, ['db://a'], 'db://{x}')
  await rest('POST', '/servers', { name: 'files', transport: 'streamable_http', url: files.url })
  await rest('PUT', '/clients/worker', { allowed_servers: ['files'] })
  await policy('greet', {
    effect: 'allow',
    subjects: { clients: ['agent'] },
    targets: { servers: ['files'], prompts: ['greet'] },
    when: '(!has(args.ns) || args.ns == "dev") && (!has(args.who) || args.who == "ok")'
  })
  const sender = async (token: string) => {
    const session = await openSession((params) => mcp.legacy('initialize', params, as(token)))
    return async (params: string) => {
      const before = files.http.requests.length
      const text = `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{${params}}}`
      const { body } = await mcp.send(text, { ...as(token), ...session })
      const sent = files.http.requests.slice(before).map(({ message }) => message)
      const refs = sent.flatMap((each) => (each?.method === 'completion/complete' ? [each.params!['ref']] : []))
      return { error: body.error?.message, refs }
    }
  }
  const send = await sender(agent)
  const ref = '"ref":{"type":"ref/prompt","name":"files__greet","title":"Greet"}'
  const own = { type: 'ref/prompt', name: 'greet' }
  const good = [
    '"argument":{"name":"ns","value":"dev"}',
    '"argument":{"name":"who","value":"ok"},"context":{"arguments":{"ns":"dev"}}',
    '"context":{"arguments":{ }},"argument":{"name":"other","value":"x"}'
  ]
  for (const rest of good) assert.deepEqual(await send(`${ref},${rest}`), { error: undefined, refs: [own] }, rest)
  for (const rest of [
    '"argument":{"name":"ns","value":"prod"}',
    '"argument":{"name":"who","value":"ok"},"context":{"arguments":{"ns":"prod"}}',
    '"argument":{"name":"who","value":"ok"},"context":{"arguments":{"ns":"prod","ns":"dev"}}',
    '"argument":{"name":"ns","value":"prod","value":"dev"}',
    '"argument":{"name":"ns","name":"x","value":"prod"}',
    '"argument":{"name":"ns","Value":"prod","value":"dev"}',
    '"argument":{"name":"x","value":"ok","Name":"ns"}',
    '"argument":{"name":"ns","value":"dev"},"context":{"arguments":{"ns":"prod"}}',
    '"argument":{"name":"ns","value":"dev"},"context":{"arguments":{"NS":"prod"}}',
    '"argument":{"name":"who","value":"ok"},"Context":{"arguments":{"ns":"prod"}}',
    '"argument":{"name":"who","value":"ok"},"context":{"arguments":{"ns":"dev"},"Arguments":{"ns":"prod"}}',
    '"argument":{"name":"who","value":"ok"},"context":{"arguments":{"ns":"dev"},"arguments":{"ns":"dev"}}'
  ]) {
    const { error, refs } = await send(`${ref},${rest}`)
    assert.deepEqual([typeof error, refs], ['string', []], rest)
  }
  const argument = '"argument":{"name":"who","value":"ok"}'
  const twice = [
    '"ref":{"type":"ref/prompt","name":"files__other","name":"files__greet"}',
    '"ref":{"type":"ref/prompt","name":"files__greet","\\u006eame":"files__greet"}',
    '"ref":{"type":"ref/resource","type":"ref/prompt","uri":"db://a","name":"files__greet"}'
  ]
  const withBoth = '"ref":{"type":"ref/prompt","uri":"db://a","name":"files__greet"}'
  for (const each of [...twice, withBoth]) {
    const { error, refs } = await send(`${each},${argument}`)
    assert.deepEqual([/^Invalid params: /.test(error!), refs], [true, []], each)
  }
  const sendFreely = await sender(worker)
  for (const each of twice) assert.deepEqual((await sendFreely(`${each},${argument}`)).refs, [], each)
  assert.deepEqual((await sendFreely(`${withBoth},${argument}`)).refs, [{ ...own, uri: 'db://a' }])
  const free = await sendFreely(`${ref},"argument":{"name":"ns","value":"a","x":1,"x":2},"Context":1`)
  assert.deepEqual(free, { error: undefined, refs: [{ ...own, title: 'Greet' }] })
})
