import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Feature } from './outcomes.ts'
import type { Scenario } from './scenarios.ts'
import { here } from './toolchains.ts'

/** A justified difference from a direct connection. Absent members match anything. */
export interface Difference {
  readonly features: readonly Feature[]
  readonly clients?: readonly string[]
  readonly servers?: readonly string[]
  readonly client_transports?: readonly string[]
  readonly server_transports?: readonly string[]
  readonly session_modes?: readonly string[]
  /** The bold words in docs/explanation/eras.md that explain it. */
  readonly section: string
}

const page = new URL('../../docs/explanation/eras.md', import.meta.url)

/** Reads the list; each entry must name bold words of the page. */
export async function readDifferences(): Promise<readonly Difference[]> {
  const differences = JSON.parse(await readFile(join(here, 'known-differences.json'), 'utf8')) as Difference[]
  const text = await readFile(page, 'utf8')
  const unexplained = differences.find(({ section }) => !text.includes(`**${section}**`))
  if (unexplained) throw new Error(`docs/explanation/eras.md has no "${unexplained.section}"`)
  return differences
}

export function explanationOf(differences: readonly Difference[], scenario: Scenario, feature: Feature) {
  const allows = (names: readonly string[] | undefined, name: string) => names === undefined || names.includes(name)
  return differences.find(
    (one) =>
      one.features.includes(feature) &&
      allows(one.clients, scenario.client.name) &&
      allows(one.servers, scenario.server.name) &&
      allows(one.client_transports, scenario.clientTransport) &&
      allows(one.server_transports, scenario.serverTransport) &&
      allows(one.session_modes, scenario.sessionMode)
  )
}
