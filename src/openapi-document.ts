import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from './app.ts'
import { commandReference } from './cli/reference.ts'
import { readConfig } from './config.ts'
import { metricsReference } from './plugins/otel/definitions.ts'
import { configurationReference } from './settings.ts'

/** Writes what is generated and committed: openapi.json and the references of settings, metrics and commands. */
async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'towpath-openapi-'))
  const { config } = readConfig({}, { dataDir }, () => '')
  const app = await buildApp(config)
  try {
    await app.ready()
    await writeFile(new URL('../openapi.json', import.meta.url), `${JSON.stringify(app.swagger(), null, 2)}\n`)
    const reference = new URL('../docs/reference/configuration.md', import.meta.url)
    await writeFile(reference, configurationReference())
    await writeFile(new URL('../docs/reference/metrics.md', import.meta.url), metricsReference())
    await writeFile(new URL('../docs/reference/cli.md', import.meta.url), commandReference())
  } finally {
    await app.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

await main()
