import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { root } from '../e2e/harness.ts'
import { startConsole } from '../integration/console-helpers.ts'
import { requireBuild, skip } from './browser.ts'
import { openConsole } from './console-site.ts'

const folder = join(root, 'dist/dashboard')
requireBuild()
const assets = readdirSync(join(folder, 'assets'))
const named = (ending: string) =>
  assets.filter((name) => name.endsWith(ending)).map((name) => join(folder, 'assets', name))
const compressed = (files: readonly string[]) =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0)
const page = readFileSync(join(folder, 'index.html'), 'utf8')

test('the scripts that a page begins with are 60 kB at most, compressed', () => {
  const first = [...page.matchAll(/<(?:script|link)[^>]* (?:src|href)="\.(\/assets\/[^"]+\.js)"/g)].map(([, path]) =>
    join(folder, path!)
  )
  assert.equal(first.length, 3)
  const size = compressed(first)
  assert.ok(size <= 60_000, `${size} bytes`)
})

test('the first page of the console loads 70 kB of scripts at most, compressed, for each role', { skip }, async (t) => {
  const console = await startConsole(t)
  const { visit } = await openConsole(console.gateway)
  for (const role of ['admin', 'auditor', 'user'] as const) {
    await visit(
      '',
      async (opened) => {
        const loaded: string[] = await opened.evaluate(
          `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))`
        )
        const files = new Set(loaded.map((address) => join(folder, 'assets', basename(new URL(address).pathname))))
        assert.ok(files.size >= 3, [...files].join(' '))
        const size = compressed([...files])
        t.diagnostic(`${role}: ${size} bytes in ${files.size} scripts`)
        assert.ok(size <= 70_000, `${role}: ${size} bytes in ${[...files].join(' ')}`)
      },
      { cookie: console.cookieOf(role) }
    )
  }
})

test('the style sheet is 12 kB at most, compressed', () => {
  const size = compressed(named('.css'))
  assert.ok(size > 0 && size <= 12_000, `${size} bytes`)
})

test('the fonts are 95 kB at most', () => {
  const size = named('.woff2').reduce((sum, file) => sum + statSync(file).size, 0)
  assert.ok(size > 0 && size <= 95_000, `${size} bytes`)
})

test('nothing of the page is inline or from elsewhere', () => {
  assert.doesNotMatch(page, /<style|style="|\son\w+="/)
  for (const [tag] of page.matchAll(/<script[^>]*>/g)) assert.match(tag, / src="\.\/assets\//)
  for (const [, target] of page.matchAll(/(?:src|href)="([^"]+)"/g)) assert.match(target!, /^\.\/assets\//)
  for (const [, target] of readFileSync(named('.css')[0]!, 'utf8').matchAll(/url\(([^)]+)\)/g)) {
    assert.match(target!, /^"?\.\//)
  }
})

test('the licences of everything that is bundled come with it', () => {
  const text = readFileSync(join(folder, 'assets/licences.txt'), 'utf8')
  const script = named('.js')
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  assert.doesNotMatch(script, /sourceMappingURL/)
  for (const name of [
    'preact',
    '@preact/signals',
    '@fontsource-variable/inter',
    '@fontsource-variable/jetbrains-mono'
  ]) {
    assert.ok(text.includes(`${name}\n`), name)
  }
  assert.match(text, /SIL OPEN FONT LICENSE/i)
})
