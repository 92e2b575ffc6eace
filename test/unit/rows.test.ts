import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coveredIds, idsIn, rowIds, rowsWithoutTest } from '../rows.ts'

const covered = coveredIds()
const ids = rowIds()

test('every promise about security and reliability has a test, but those that wait for what is not there yet', (t) => {
  const gaps = ids.filter((id) => !covered.has(id))
  t.diagnostic(
    `${ids.length - gaps.length} of ${ids.length} rows of test/blackbox.tsv are covered, not ${gaps.join(', ')}`
  )
  assert.deepEqual(
    gaps.filter((id) => !(id in rowsWithoutTest)),
    []
  )
})

test('no promise waits that has a test, or that nobody made', () => {
  assert.deepEqual(
    Object.keys(rowsWithoutTest).filter((id) => covered.has(id) || !ids.includes(id)),
    []
  )
})

test('titles name no promise that nobody made, and each has one id', () => {
  assert.deepEqual(
    [...covered].filter((id) => !ids.includes(id)),
    []
  )
  assert.equal(new Set(ids).size, ids.length)
})

test('ids are read from the beginning of a title, one or more', () => {
  // in pieces, or they would count as titles of this file
  const title = (...words: string[]) => `"${words.join(' ')}"`
  const source = title('AB-01', 'CD-02', 'does') + title('not', 'XY-09', 'here') + title('GH-04') + title('EF-03', 'is')
  assert.deepEqual(idsIn(source), ['AB-01', 'CD-02', 'EF-03'])
})
