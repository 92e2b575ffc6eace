import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuseRankings } from '../../src/domain/search/fusion.ts'
import { decodeVector, encodeVector, similarity } from '../../src/domain/search/vectors.ts'

test('an encoded vector keeps its direction', () => {
  const numbers = Array.from({ length: 1_536 }, (_, i) => Math.sin(i) * 0.03)
  const other = numbers.map((number, i) => number + Math.cos(i) * 0.01)
  const cosine = (a: readonly number[], b: readonly number[]) => {
    const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, each, i) => sum + each * y[i]!, 0)
    return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
  }
  const [a, b] = [encodeVector(numbers)!, encodeVector(other)!]
  assert.ok(Math.abs(similarity(a, b) - cosine(numbers, other)) < 0.001)
  assert.deepEqual(decodeVector(new Uint8Array(a.values)), a)
  for (const scale of [1e-300, 1e300]) {
    assert.deepEqual(encodeVector(numbers.map((number) => number * scale))?.values, a.values)
  }
})

test('what is no vector is refused', () => {
  for (const wrong of [undefined, null, '1,2', [], [0, 0], [1, Infinity], [NaN], ['1'], [null], { length: 2 }]) {
    assert.equal(encodeVector(wrong), undefined)
  }
  assert.equal(encodeVector(new Array(4_097).fill(1)), undefined)
  assert.equal(encodeVector(new Array(3)), undefined)
  assert.equal(decodeVector(new Uint8Array(3)), undefined)
})

test('rankings are merged by the sums of their places', () => {
  const none = () => false
  const fuse = (first: string, second: string, more: object = {}) =>
    fuseRankings(first.split(''), second.split(''), { limit: 10, isUnranked: none, ...more }).join('')
  assert.equal(fuse('abc', 'abc'), 'abc')
  assert.equal(fuse('abc', 'cd'), 'cabd')
  assert.equal(fuse('', 'xyz'), 'xyz')
  assert.equal(fuse('xyz', ''), 'xyz')
  assert.equal(fuse('abc', 'cba', { pinned: 1, limit: 2 }), 'ac')
  assert.equal(fuse('ab', 'b'), 'ba')
  assert.equal(fuse('ab', 'b', { isUnranked: (item: string) => item === 'a' }), 'ab')
})
