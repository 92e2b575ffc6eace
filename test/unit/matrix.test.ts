import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allCells, someCells, valueFor } from '../matrix.ts'

test('every value of every dimension of a matrix is in a cell that is tested', () => {
  const dimensions: readonly (readonly unknown[])[] = [['a', 'b', 'c', 'd'], [1, 2], [true]]
  const cells = someCells(...dimensions)
  assert.equal(cells.length, 4)
  dimensions.forEach((values, i) => assert.deepEqual(new Set(cells.map((cell) => cell[i])), new Set(values)))
  assert.deepEqual(someCells(['a'], []), [])
})

test('the nightly run tests the product of the dimensions', () => {
  assert.deepEqual(allCells(['a', 'b'], [1, 2]), [
    ['a', 1],
    ['a', 2],
    ['b', 1],
    ['b', 2]
  ])
})

test('many names share the values among them, and a name always has the same value', () => {
  const values = ['wide', 'narrow', 'light'] as const
  const names = ['servers', 'tools', 'calls', 'groups', 'connect', 'audit']
  const chosen = names.map((name) => valueFor(name, values))
  assert.deepEqual(new Set(chosen), new Set(values))
  assert.deepEqual(
    names.map((name) => valueFor(name, values)),
    chosen
  )
  // a name and the name of its neighbour differ
  assert.notEqual(valueFor('page, a', values), valueFor('page, b', values))
})
