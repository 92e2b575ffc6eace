import { join } from 'node:path'
import { createBrowser } from '../../fixtures/identity-provider/browser.ts'
import { startIdentityProvider } from '../../fixtures/identity-provider/provider.ts'
import { type ManagedProcess, waitUntilReady } from '../processes.ts'
import { freePort } from '../../ports.ts'
import { startGateway, type Launch } from '../servers.ts'
import { authorizationScenarios, findNode, program, readChecks, type Check } from '../suite.ts'

/** Asks the gateway for an id of the suite as OAuth client (RFC 7591). `callback`: its redirect URI. */
async function registerClient(issuer: string, callback: string): Promise<string> {
  const answer = await fetch(`${issuer}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'MCP conformance', redirect_uris: [callback] })
  })
  if (answer.status !== 201) throw new Error(`the client was not registered: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { client_id: string }).client_id
}

/** Opens the URL that the suite prints, signs in at the identity provider and lets the client in. */
async function signIn(suite: ManagedProcess, issuer: string): Promise<void> {
  const printed = () => suite.output().match(/^http\S+\/oauth\/authorize\?\S+$/m)?.[0]
  const browser = createBrowser()
  const login = await browser.open(await waitUntilReady(suite, printed))
  const consent = await browser.submit(login, { login: 'alice', password: 'any' })
  if (!consent.url.href.startsWith(issuer)) throw new Error(`no consent page: ${consent.url.href} ${consent.text}`)
  await browser.submit(consent, { answer: 'allow' })
}

/** Returns what is wrong with a check; undefined for a passed one. */
function problemOf({ status, errorMessage, description }: Check): string | undefined {
  return status === 'SUCCESS' ? undefined : `${status}: ${errorMessage ?? description}`
}

/** Numbers of checks. Warnings and skipped checks have not passed, and neither has a scenario without checks. */
export interface Counts {
  readonly passed: number
  readonly all: number
}

/** Prints the checks of each scenario and counts them. */
function printChecks(folder: string): Counts {
  const rows = authorizationScenarios().flatMap((scenario) => {
    const checks = readChecks(folder, `authorization-server-${scenario}-20`)
    if (checks.length === 0) return [{ scenario, id: scenario, problem: 'no result' }]
    return checks.map((check) => ({ scenario, id: check.id, problem: problemOf(check) }))
  })
  const width = Math.max(...rows.map(({ id }) => id.length))
  for (const { id, problem } of rows) {
    const words = ['authorization server', id.padEnd(width), problem === undefined ? 'pass' : `FAIL  ${problem}`]
    console.log(words.join('  '))
  }
  return { passed: rows.filter(({ problem }) => problem === undefined).length, all: rows.length }
}

/**
 * Runs the suite's scenarios of an authorization server against the gateway, at which people of a test provider sign
 * in, and prints the checks.
 */
export async function runServerSide(launch: Launch, folder: string): Promise<Counts> {
  const port = await freePort()
  const issuer = `http://localhost:${port}`
  const provider = await startIdentityProvider({ redirectUris: [`${issuer}/auth/callback`] })
  try {
    await startGateway(launch, join(folder, 'authorization-server'), {
      PORT: String(port),
      SERVER_MODE: 'enterprise',
      TOWPATH_ADMIN_TOKEN: 'an administrator of the conformance run'.replaceAll(' ', '-'),
      TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      TOWPATH_PUBLIC_URL: issuer,
      TOWPATH_AUTH: 'embedded',
      TOWPATH_OIDC_ISSUER: provider.issuer,
      TOWPATH_OIDC_CLIENT_ID: provider.clientId,
      TOWPATH_OIDC_CLIENT_SECRET: provider.clientSecret
    })
    const callbackPort = await freePort()
    const clientId = await registerClient(issuer, `http://127.0.0.1:${callbackPort}/callback`)
    const results = join(folder, 'authorization-server-results')
    const client = ['--client-id', clientId, '--port', String(callbackPort), '--resource', `${issuer}/mcp`]
    const suite = launch(findNode(), [program, 'authorization', '--url', issuer, ...client, '--output-dir', results])
    await signIn(suite, issuer)
    await suite.exited
    const counts = printChecks(results)
    console.log(`authorization server  ${counts.passed}/${counts.all} checks pass`)
    return counts
  } finally {
    await provider.close()
  }
}
