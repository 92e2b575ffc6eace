import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  'llms.txt',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .map((name) => join('docs', name))
].toSorted()

const withoutCode = (text: string) => text.replaceAll(/^ *```.*?^ *```$/gms, '').replaceAll(/`[^`\n]*`/g, '')

/** Returns the anchors that GitHub gives a page's headings. */
function anchorsOf(path: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of read(path)
    .replaceAll(/^```.*?^```$/gms, '')
    .matchAll(/^#+ (.+)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let i = 1; anchors.has(anchor); i++) anchor = `${slug}-${i}`
    anchors.add(anchor)
  }
  return anchors
}

const linksOf = (path: string) => [...withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!)

for (const page of pages) {
  test(`every relative link of ${page} leads to a file that is there, and to a heading of it`, () => {
    for (const link of linksOf(page)) {
      if (/^[a-z]+:/.test(link)) continue
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? page : relative(root, join(root, dirname(page), file))
      assert.ok(existsSync(join(root, target)), link)
      if (anchor !== undefined) assert.ok(anchorsOf(target).has(anchor), link)
    }
  })
}

test('every page of the documentation can be reached from the README', () => {
  const reached = new Set(['README.md'])
  for (const page of reached) {
    for (const link of linksOf(page)) {
      const file = link.split('#')[0]!
      if (/^[a-z]+:/.test(link) || !file.endsWith('.md')) continue
      reached.add(relative(root, join(root, dirname(page), file)))
    }
  }
  assert.deepEqual(
    pages.filter((page) => page.startsWith('docs/') && !reached.has(page)),
    []
  )
})

test('docs/how-to/use-the-console.md names pages, headings and buttons as the pages of the console do', () => {
  const folder = join(root, 'dashboard/src')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.tsx') || name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')
  // an explanation in bold ends with a full stop
  const names = [...read('docs/how-to/use-the-console.md').matchAll(/\*\*([^*]+)\*\*/g)]
    .map(([, name]) => name!)
    .filter((name) => !name.endsWith('.'))
  assert.ok(names.length > 10)
  const isShown = (name: string) => [`'${name}'`, `"${name}"`, `>${name}<`].some((text) => sources.includes(text))
  const isOwnLine = (name: string) => new RegExp(`^\\s*${name}$`, 'm').test(sources)
  assert.deepEqual(
    [...new Set(names)].filter((name) => !isShown(name) && !isOwnLine(name)),
    []
  )
})
