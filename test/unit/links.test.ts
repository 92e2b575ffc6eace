import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/gateway/payload.ts'
import { createLinks } from '../../src/gateway/downstream/links.ts'

const json = (value: unknown) => Payload.of(JSON.stringify(value))

test('links and embedded resources of tools and prompts lead back to the server that sent them', () => {
  const links = createLinks()
  links.note(
    'ann',
    'alpha',
    json({
      content: [
        { type: 'resource_link', uri: 'a://1' },
        { type: 'text', text: '"uri"' }
      ]
    })
  )
  links.note(
    'ann',
    'beta',
    json({ messages: [{ content: { type: 'resource', resource: { uri: 'b://1', text: '' } } }] })
  )
  assert.equal(links.find('ann', 'a://1'), 'alpha')
  assert.equal(links.find('ann', 'b://1'), 'beta')
})

test('a link is known only to the principal that got it', () => {
  const links = createLinks()
  links.note('ann', 'alpha', json({ content: [{ type: 'resource_link', uri: 'a://1' }] }))
  assert.equal(links.find('bob', 'a://1'), undefined)
})

test('the last server that sent a URI counts, and the oldest of too many is forgotten', () => {
  const links = createLinks()
  const link = (uri: string) => json({ content: [{ type: 'resource_link', uri }] })
  links.note('ann', 'alpha', link('a://1'))
  links.note('ann', 'beta', link('a://1'))
  assert.equal(links.find('ann', 'a://1'), 'beta')
  for (let i = 0; i < 10_000; i++) links.note('ann', 'alpha', link(`x://${i}`))
  assert.equal(links.find('ann', 'a://1'), undefined)
  assert.equal(links.find('ann', 'x://9999'), 'alpha')
})

test('of too many links those of the principal with most are forgotten, and nobody else’s', () => {
  const links = createLinks()
  const link = (uri: string) => json({ content: [{ type: 'resource_link', uri }] })
  links.note('ann', 'alpha', link('a://1'))
  for (let i = 0; i < 20_000; i++) links.note('bob', 'alpha', link(`x://${i}`))
  assert.equal(links.find('ann', 'a://1'), 'alpha')
  assert.deepEqual([links.find('bob', 'x://10000'), links.find('bob', 'x://10001')], [undefined, 'alpha'])
})

test('what is no result, or holds a uri elsewhere, is passed over', () => {
  const links = createLinks()
  for (const body of [
    'not json "uri"',
    '[{"uri":"a://1"}]',
    '{"content":{"uri":"a://1"}}',
    '{"content":[null,{"type":"x","uri":"a://1"}]}'
  ]) {
    links.note('ann', 'alpha', Payload.of(body))
  }
  assert.equal(links.find('ann', 'a://1'), undefined)
})
