import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../app.ts'
import { commandReference } from '../cli/reference.ts'
import { readConfig } from '../config/config.ts'
import { metricsReference } from '../plugins/telemetry/definitions.ts'
import { errorsReference } from './errors.ts'
import { httpReference, type Document } from './http-reference.ts'
import { troubleshootingGuide } from './troubleshooting.ts'
import { limitsReference } from './limits.ts'
import { configurationReference } from './configuration.ts'

/** Writes the generated files that are committed: openapi.json, pages of docs/reference, and the troubleshooting page. */
async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'towpath-openapi-'))
  const { config } = readConfig({ SERVER_MODE: 'enterprise' }, { dataDir }, () => '')
  const app = await buildApp(config)
  try {
    const document = (await app.inject('/openapi.json')).json<Document>()
    await writeFile(new URL('../../openapi.json', import.meta.url), `${JSON.stringify(document, null, 2)}\n`)
    const pages = {
      cli: commandReference(),
      configuration: configurationReference(),
      errors: errorsReference(),
      http: httpReference(document),
      limits: limitsReference(),
      metrics: metricsReference()
    }
    for (const [name, text] of Object.entries(pages)) {
      await writeFile(new URL(`../../docs/reference/${name}.md`, import.meta.url), text)
    }
    await writeFile(new URL('../../docs/how-to/troubleshooting.md', import.meta.url), troubleshootingGuide())
  } finally {
    await app.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

await main()
