import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvalOf } from '../../dashboard/src/clients/approval.ts'
import { nameHints } from '../../dashboard/src/policies/prefixed.ts'

test('names of a policy that begin with a registered server are warned of', () => {
  const hints = (tools: readonly string[]) =>
    nameHints({ name: 'a', effect: 'deny', targets: { tools } }, ['k8s', 'my-db']).tools
  assert.match(hints(['get', 'k8s__*'])!, /^“k8s__\*” .* Write “\*” instead, and “k8s” under Servers\.$/)
  assert.match(hints(['my-db__a__b'])!, /Write “a__b” instead, and “my-db” under Servers\.$/)
  for (const name of ['k8s*', 'k8s__', 'other__get', '__get', 'x__k8s__get', 'K8S__get'])
    assert.equal(hints([name]), undefined, name)
})

test('names of prompts are warned of like those of tools, and a policy without names is not', () => {
  const rule = { name: 'a', effect: 'deny', targets: { prompts: ['k8s__ask'] } } as const
  assert.match(nameHints(rule, ['k8s']).prompts!, /Write “ask” instead/)
  assert.deepEqual(nameHints({ name: 'a', effect: 'deny' }, ['k8s']), { tools: undefined, prompts: undefined })
})

test('the state of a program tells whether somebody has to approve it', () => {
  const word = (id: string, approved: boolean | undefined, isAsked: boolean) =>
    approvalOf({ id, registered: approved === undefined ? undefined : { id, redirect_uris: [], approved } }, isAsked)
      .word
  assert.equal(word('a', false, true), 'Waits for approval')
  assert.equal(word('a', true, true), 'Approved')
  assert.equal(word('a', false, false), 'No approval needed')
  assert.equal(word('a', true, false), 'No approval needed')
  assert.equal(word('https://a.example/client.json', undefined, true), 'No approval needed')
  assert.equal(word('towpath-cli', undefined, true), 'No approval needed')
  assert.equal(word('other', undefined, true), 'Not registered here')
})
