import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startGateway, type Launch } from '../servers.ts'
import { clientScenarios, findNode, notesOf, program, readChecks, requiredScenarios, revisions } from '../suite.ts'

const driver = fileURLToPath(new URL('client.ts', import.meta.url))

/** Why a scenario does not pass yet. A scenario that is not listed must pass, and one that is listed must not. */
const open: Readonly<Record<string, string>> = {
  'auth/2025-03-26-oauth-endpoint-fallback': 'without metadata no PKCE support is announced, so no sign-in is safe',
  'auth/client-credentials-jwt': 'extension: client credentials towards upstreams are not built',
  'auth/client-credentials-basic': 'extension: client credentials towards upstreams are not built',
  'auth/enterprise-managed-authorization': 'extension: ID-JAG towards upstreams is not built',
  'auth/dpop': 'extension: DPoP is not built',
  'auth/dpop-nonce': 'extension: DPoP is not built',
  'auth/wif-jwt-bearer': 'extension: workload identity is not built'
}

/** URL of a client metadata document that the suite expects; it is never read. */
const clientId = 'https://conformance-test.local/client-metadata.json'
const oldRevision = '2025-03-26'

interface Row {
  readonly scenario: string
  readonly kind: 'required' | 'back-compat' | 'extension'
  readonly problems: readonly string[]
}

/** Runs the suite with the gateway as client, and keeps the results in `folder`. Scenarios run in parallel. */
async function runSuite(launch: Launch, origin: string, which: readonly string[], folder: string): Promise<void> {
  const node = findNode()
  const command = `${node} --experimental-strip-types --no-warnings ${driver}`
  const words = [program, 'client', '--command', command, '--output-dir', folder, '--timeout', '30000', ...which]
  await launch(node, words, { TOWPATH_REGISTRY: origin }).exited
}

/** Returns the failed checks of a scenario, warnings included: the suite counts them as not passed. */
function readProblems(folder: string, scenario: string): string[] {
  const checks = readChecks(folder, `${scenario.slice('auth/'.length)}-20`)
  if (checks.length === 0) return ['no result']
  const problems = [...notesOf(checks, 'FAILURE'), ...notesOf(checks, 'WARNING')]
  if (problems.length > 0) return problems.map(({ id, message }) => `${id}: ${message}`)
  return checks.some(({ status }) => status === 'SUCCESS') ? [] : ['the scenario checked nothing']
}

function printRows(title: string, rows: readonly Row[]): void {
  const width = Math.max(...rows.map(({ scenario }) => scenario.length))
  for (const { scenario, kind, problems } of rows) {
    const reason = problems.length === 0 ? '' : (open[scenario] ?? problems.join('; '))
    const result = problems.length === 0 ? 'pass' : open[scenario] ? 'open' : 'FAIL'
    console.log([title, scenario.padEnd(width), kind.padEnd('back-compat'.length), result, reason].join('  ').trimEnd())
  }
}

/**
 * Runs the suite's scenarios of an OAuth client against the gateway as client of its upstreams. Resolves with the
 * number of rows that are not as expected: a failure that is not listed as open, or a pass that is.
 */
export async function runClientSide(launch: Launch, folder: string): Promise<number> {
  const origin = await startGateway(launch, join(folder, 'data'), { TOWPATH_UPSTREAM_CLIENT_ID: clientId })
  const all = clientScenarios().filter(({ name }) => name.startsWith('auth/'))
  const named = (mark: string) => all.filter(({ versions }) => versions.includes(mark)).map(({ name }) => name)
  const rows: Row[] = []
  const report = (title: string, kind: Row['kind'], scenarios: readonly string[], results: string) => {
    const found = scenarios.map((scenario) => ({
      scenario,
      kind,
      problems: readProblems(join(results, 'auth'), scenario)
    }))
    printRows(title, found)
    rows.push(...found)
  }
  for (const revision of revisions) {
    const results = join(folder, revision)
    // what a revision requires, and beside it the extensions
    await runSuite(launch, origin, ['--requirements', revision], results)
    const required = requiredScenarios(revision, 'client').filter((name) => name.startsWith('auth/'))
    report(revision, 'required', required, results)
    const passed = rows.slice(-required.length).filter(({ problems }) => problems.length === 0).length
    console.log(`${revision}  ${passed} of ${required.length} required scenarios pass`)
  }
  report(revisions[1], 'extension', named('extension'), join(folder, revisions[1]))
  const older = join(folder, oldRevision)
  for (const name of named(oldRevision))
    await runSuite(launch, origin, ['--scenario', name, '--spec-version', oldRevision], older)
  report(oldRevision, 'back-compat', named(oldRevision), older)
  return rows.filter(({ scenario, problems }) => problems.length > 0 !== scenario in open).length
}
