import assert from 'node:assert/strict'
import test from 'node:test'
import { put } from '../e2e/pages.ts'

test('a value of this machine stays as it is where it contains one that the documentation names', () => {
  const places = [
    ['http://localhost:8080', 'http://localhost:30019'],
    ['3001', '20007']
  ] as const
  const text = 'curl http://localhost:8080/ready && PORT=3001 npm start && curl http://localhost:8080/mcp'
  assert.equal(
    put(text, places),
    'curl http://localhost:30019/ready && PORT=20007 npm start && curl http://localhost:30019/mcp'
  )
  assert.equal(put('npm ci', places), 'npm ci')
  assert.equal(put(text, []), text)
})
