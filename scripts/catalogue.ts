import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readRegistry } from '../src/control/catalogue/read-registry.ts'
import type { CatalogueEntry } from '../src/domain/catalogue/entry.ts'
import { namePattern } from '../src/domain/catalogue/search.ts'

/**
 * Replaces the catalogue that the package contains by the entries of an MCP registry:
 * `npm run catalogue -- <url of the registry> [pattern of names]…`.
 */
const file = fileURLToPath(new URL('../src/control/catalogue/servers.json', import.meta.url))
const TIMEOUT_MS = 30_000

async function get(url: string) {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' })
  return { status: response.status, body: await response.json().catch(() => null) }
}

/** Converts an entry back to the form of a registry. */
const toServerJson = ({ repository, website, packages, remotes, ...entry }: CatalogueEntry) => ({
  ...entry,
  ...(repository === undefined ? {} : { repository: { url: repository } }),
  ...(website === undefined ? {} : { websiteUrl: website }),
  ...(packages.length > 0
    ? { packages: packages.map((item) => ({ ...item, transport: { type: item.transport } })) }
    : {}),
  ...(remotes.length > 0 ? { remotes } : {})
})

const [registry = '', ...patterns] = process.argv.slice(2)
if (!URL.canParse(registry)) {
  console.error('usage: npm run catalogue -- <url of the registry> [pattern of names]…')
  process.exit(2)
}
const { entries, leftOut } = await readRegistry(registry.replace(/\/+$/, ''), get)
const checks = (patterns.length > 0 ? patterns : ['*']).map(namePattern)
const chosen = entries.filter(({ name, isDeprecated }) => !isDeprecated && checks.some((matches) => matches(name)))
const content = {
  date: new Date().toISOString().slice(0, 10),
  origin: `Read from ${registry}`,
  licence: 'As stated by the registry',
  servers: chosen.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(toServerJson)
}
writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`)
console.log(`${chosen.length} servers written, ${entries.length - chosen.length} not chosen, ${leftOut} not usable`)
