import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'

/**
 * Returns the modules loaded before a command runs: all that are reached by imports that are neither lazy nor
 * type-only.
 */
function loadedBy(url: URL, seen = new Map<string, readonly string[]>()): Map<string, readonly string[]> {
  if (seen.has(url.href)) return seen
  const text = readFileSync(url, 'utf8')
  const specifiers = [...text.matchAll(/^import (?!type\b)[^;]*?from '([^']+)'/gm)].map(([, specifier]) => specifier!)
  seen.set(
    url.href,
    specifiers.filter((specifier) => !specifier.startsWith('.'))
  )
  for (const specifier of specifiers) if (specifier.startsWith('.')) loadedBy(new URL(specifier, url), seen)
  return seen
}

test('help loads commander and the command tree, and no work of any command', () => {
  const loaded = loadedBy(new URL('../../src/cli/main.ts', import.meta.url))
  const packages = [...loaded.values()].flat().filter((specifier) => !specifier.startsWith('node:'))
  assert.deepEqual([...new Set(packages)], ['commander'])
  const files = [...loaded.keys()]
  assert.ok(files.some((file) => file.endsWith('/cli/commands/items.ts')))
  assert.deepEqual(
    files.filter((file) => /\/(actions|gateway|registry|plugins|routes|schemas)\/|\/server\.ts$/.test(file)),
    []
  )
})
