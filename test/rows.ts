import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))

/** Rows of `blackbox.tsv` that cannot have a test yet, with the reason. */
export const rowsWithoutTest: Readonly<Record<string, string>> = {
  'SM-09': 'a measurement: npm run bench:search',
  'VS-09': 'the measurement of overrides is being built'
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

/** Returns the ids that test titles begin with. */
export function coveredIds(): Set<string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'))
  return new Set(files.flatMap((name) => idsIn(readFileSync(join(folder, name), 'utf8'))))
}
