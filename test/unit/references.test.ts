import assert from 'node:assert/strict'
import test from 'node:test'
import { expandPlaceholders } from '../../src/domain/placeholders.ts'
import { createReferences, replaceByReferences } from '../../src/domain/secrets/references.ts'

const server = {
  name: 's',
  url: 'http://h/p?key=SENT',
  command: 'run',
  args: ['--token', 'SENT', '--api-key=SENT', '--port=80', 'a${B}', '--secret=${C}', '${D}_TOKEN=SENT'],
  env: { K: 'SENT' },
  bearer_token: 'SENT'
}

test('what may be secret in a file is a reference, also in a query and in arguments, and means the same', () => {
  const references = createReferences()
  const written = replaceByReferences('server', server, references)
  assert.doesNotMatch(JSON.stringify(written), /SENT/)
  assert.deepEqual(
    [written.url, (written.args as string[]).slice(0, 4)],
    ['${SERVER_S_URL}', ['--token', '${SERVER_S_ARGS_1}', '--api-key=${SERVER_S_ARGS_2}', '--port=80']]
  )
  const values: Record<string, string> = {
    SERVER_S_URL: server.url,
    SERVER_S_ARGS_1: 'SENT',
    SERVER_S_ARGS_2: 'SENT',
    SERVER_S_ARGS_4: 'a${B}',
    SERVER_S_ARGS_5: '${C}',
    SERVER_S_ARGS_6: '${D}_TOKEN=SENT',
    SERVER_S_ENV_K: 'SENT',
    SERVER_S_BEARER_TOKEN: 'SENT'
  }
  assert.deepEqual([...references.names()].toSorted(), Object.keys(values).toSorted())
  const { value, unset } = expandPlaceholders(written, (name) => values[name])
  assert.deepEqual([value, unset], [server, []])
})

test('with secrets only what would be taken for a reference is one', () => {
  const { url, args } = replaceByReferences('server', server, createReferences(), true)
  assert.deepEqual([url, (args as string[]).slice(0, 3)], [server.url, server.args.slice(0, 3)])
})
