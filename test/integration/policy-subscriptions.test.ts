import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { modernBody, modernHeaders } from './mcp-messages.ts'
import { as, startFiles, startPolicyGateway } from './policy-helpers.ts'

test('an open subscription tells of no resource that a condition refuses, from the start or after a change', async (t) => {
  const { mcp, rest, agent, policy } = await startPolicyGateway(t)
  const files = await startFiles(t, ['db://a', 'db://a/secret', 'db://b'], 'db://{x}')
  await rest('POST', '/servers', { name: 'files', transport: 'streamable_http', url: files.url })
  const allow = (when: string) =>
    policy('db', { effect: 'allow', subjects: { clients: ['agent'] }, targets: { resources: ['db://*'] }, when })
  await allow('!tool.name.endsWith("/secret")')
  const stop = new AbortController()
  addCleanup(t, () => stop.abort())
  const notifications = { resourceSubscriptions: ['db://a', 'db://a/secret', 'db://b'] }
  const response = await fetch(mcp.url, {
    method: 'POST',
    signal: stop.signal,
    headers: { ...modernHeaders('subscriptions/listen'), ...as(agent) },
    body: modernBody('subscriptions/listen', { notifications })
  })
  let text = ''
  void (async () => {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part
  })().catch(() => {})
  const told = () => [...text.matchAll(/^data: (.*)$/gm)].slice(1).map(([, data]) => JSON.parse(data!).params.uri)
  await until('the stream is acknowledged', () => text.includes('data: '))
  assert.match(text, /"resourceSubscriptions":\["db:\/\/a","db:\/\/b"\]/)
  const announce = (uri: string) => files.announce('notifications/resources/updated', { uri })
  await until('updates are forwarded', () => {
    announce('db://a')
    return told().includes('db://a')
  })
  announce('db://a/secret')
  announce('db://b')
  await until('a later update arrives', () => told().includes('db://b'))
  assert.ok(!told().includes('db://a/secret'))

  await allow('tool.name == "db://b"')
  const before = told().length
  announce('db://a')
  announce('db://b')
  await until('the other resource is still followed', () => told().slice(before).includes('db://b'))
  assert.ok(!told().slice(before).includes('db://a'))
})
