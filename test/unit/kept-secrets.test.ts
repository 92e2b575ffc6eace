import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withKeptSecrets } from '../../src/control/dashboard/kept-secrets.ts'
import { maskArguments } from '../../src/domain/secrets/secret-parts.ts'

const args = [
  '-y',
  'pkg',
  '--token',
  'first-secret',
  '--password',
  'second-secret',
  '--url=https://u:third@h.example/x'
]
const stored = { name: 'a', transport: 'stdio', session_mode: 'stateless', command: 'npx', args } as const

const saved = (given: readonly string[], more: object = {}) =>
  withKeptSecrets({ transport: 'stdio', command: 'npx', args: [...given], ...more }, stored, null).args

test('masked arguments keep their secrets wherever they are moved, and others are taken as given', () => {
  const shown = maskArguments(args)
  assert.ok(!shown.join(' ').match(/secret|third/), shown.join(' '))
  assert.deepEqual(saved(shown), args)
  const [yes, , token, first, password, second, url] = shown as [string, string, string, string, string, string, string]
  assert.deepEqual(saved([yes, 'other', url, password, second, token, 'new']), [
    ...['-y', 'other', args[6], '--password', 'second-secret', '--token', 'new']
  ])
  assert.deepEqual(saved([password, second]), ['--password', 'second-secret'], `not ${first}`)
})

test('a masked argument that is not one of the stored ones stays masked', () => {
  assert.deepEqual(saved(['--api-key', '***']), ['--api-key', '***'])
  assert.deepEqual(saved(['--token', '***', '--token', '***']), ['--token', '***', '--token', '***'])
  assert.deepEqual(saved(['***']), ['***'])
})

test('masked arguments do not follow to another command', () => {
  assert.throws(() => saved(['--token', '***'], { command: 'node' }), { code: 'secrets_not_kept', message: /"args"/ })
})
