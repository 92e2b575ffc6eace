import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'docs/internals')

/** Returns the anchor that Markdown renderers give a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')

const anchors = new Set(
  readdirSync(folder).flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/^#{2,} (.+)$/gm)].map(
      ([, heading]) => `${file}#${anchorOf(heading!)}`
    )
  )
)

const sources = ['src', 'dashboard/src', 'test', 'benchmarks', 'migrations', 'scripts'].flatMap((part) =>
  readdirSync(join(root, part), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|tsx|mjs)$/.test(name) && !/node_modules|\.venv|generated/.test(name))
    .map((name) => join(part, name))
)
const pages = [...new Set([...anchors].map((anchor) => anchor.split('#')[0]!))].join('|')
const citation = new RegExp(`\\b(?:${pages.replaceAll('.', String.raw`\.`)})#[\\w-]+`, 'g')

test('every heading that a comment cites is there', () => {
  const missing = sources.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(citation)]
      .filter(([cited]) => !anchors.has(cited))
      .map(([cited]) => `${file}: ${cited}`)
  )
  assert.deepEqual(missing, [])
})

test('no comment cites a page by a number of its section', () => {
  const numbered = /\b(?:proxy|security|contract|ux|architecture) (?:page )?\d+(?:\.\d+)*\b|\bdecisions "/
  const found = sources.filter(
    (file) =>
      file !== join('test', 'unit', 'citations.test.ts') && numbered.test(readFileSync(join(root, file), 'utf8'))
  )
  assert.deepEqual(found, [])
})
