import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutOutput } from '../../src/domain/failures/stderr-line.ts'
import { serverError } from '../../src/domain/server-error.ts'
import { administrators, messageOf, UpstreamFailure } from '../../src/protocol/upstream-failure.ts'

test('the line of stderr in a message is taken out again, however the program ended', () => {
  const program = { command: 'node', stderr: ['FATAL: for alice: about to die'] }
  for (const ended of ['exited with code 3', 'was ended by signal SIGKILL', 'closed its pipes']) {
    const failure = new UpstreamFailure('crashed', `the process ${ended}`, { program })
    const message = messageOf(failure, administrators)
    assert.match(message, /alice/)
    assert.equal(withoutOutput(message), failure.message)
    assert.equal(withoutOutput(serverError('a', message)), serverError('a', failure.message))
    assert.equal(withoutOutput(failure.message), failure.message)
  }
  assert.equal(withoutOutput('connection refused: by the server'), 'connection refused: by the server')
})
