import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('../../src', import.meta.url))

test('no two tasks of the gateway share an advisory lock of the database: one would wait for the other', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const numbers = files.flatMap((file) => readFileSync(join(source, file), 'utf8').match(/\b7_203_\d{3}\b/g) ?? [])
  assert.ok(numbers.length > 5)
  assert.deepEqual(numbers.toSorted(), [...new Set(numbers)].toSorted())
})
