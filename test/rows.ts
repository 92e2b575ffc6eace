import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Rows of `blackbox.tsv` that cannot have a test yet, with the reason. */
export const rowsWithoutTest: Readonly<Record<string, string>> = {
  'SM-09': 'a measurement: npm run bench:search',
  'VS-09': 'a measurement: npm run bench:views'
}

/**
 * Returns the ids of the promises about security and reliability, each an example of a property (CONTRIBUTING,
 * "Tests").
 */
export function rowIds(): string[] {
  const [, ...rows] = readFileSync(join(folder, 'blackbox.tsv'), 'utf8').trimEnd().split('\n')
  return rows.map((row) => row.split('\t')[1]!)
}

/** Returns the ids at the beginning of the titles in a test's source. */
export const idsIn = (source: string): string[] =>
  [...source.matchAll(/['"`]((?:[A-Z]{2}-\d{2}[ :]+)+)/g)].flatMap(([, ids = '']) => ids.match(/[A-Z]{2}-\d{2}/g) ?? [])

/** Returns the ids that test titles begin with, of the tests that `npm test` runs. */
export function coveredIds(): Set<string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => name.endsWith('.test.ts') && !name.startsWith('nightly/'))
  return new Set(files.flatMap((name) => idsIn(readFileSync(join(folder, name), 'utf8'))))
}
