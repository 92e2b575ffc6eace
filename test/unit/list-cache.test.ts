import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createListingCache, joinListing, pickEntries } from '../../src/catalog/list-cache.ts'

const texts = ['{"a":"ü"}', '{}', '{"b":"😀"}', '[1,2]']
const source = joinListing(texts)

test('any entries of a listing make the listing that they would have made alone', () => {
  for (let bits = 0; bits < 2 ** texts.length; bits++) {
    const indices = texts.flatMap((_text, i) => (bits & (1 << i) ? [i] : []))
    assert.deepEqual(pickEntries(source, indices), joinListing(indices.map((i) => texts[i]!)))
  }
})

test('what was made is made once for each key and source', () => {
  const cache = createListingCache()
  let made = 0
  const make = () => {
    made++
    return pickEntries(source, [1])
  }
  const first = cache.get('k', source, make)
  assert.equal(cache.get('k', source, make), first)
  assert.equal(made, 1)
  cache.get('other', source, make)
  assert.equal(made, 2)
  const newer = joinListing(texts)
  assert.notEqual(cache.get('k', newer, make), first)
  assert.equal(made, 3)
})

test('the cache keeps to its size, forgets what was not used for longest, and serves what is larger than itself', () => {
  const entry = joinListing(['x'.repeat(1_000)])
  const cache = createListingCache(5_000)
  const isHeld = (key: string) => {
    let made = false
    cache.get(key, source, () => {
      made = true
      return entry
    })
    return !made
  }
  for (let i = 0; i < 1_000; i++) {
    isHeld('often')
    isHeld(`k${i}`)
    assert.ok(cache.bytes <= 5_000, String(cache.bytes))
  }
  assert.equal(isHeld('often'), true)
  assert.equal(isHeld('k999'), true)
  assert.equal(isHeld('k0'), false)
  const large = joinListing(['x'.repeat(10_000)])
  assert.equal(
    cache.get('large', source, () => large),
    large
  )
  assert.ok(cache.bytes <= 5_000)
})
