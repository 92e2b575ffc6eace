import { connectClient } from '../../test/fixtures/identity-provider/gateway.ts'
import { startIdentityProvider } from '../../test/fixtures/identity-provider/provider.ts'
import type { Bench, Gateway, GatewayOptions } from '../bench.ts'
import { freePort } from '../../test/ports.ts'
import { compareStarts, errorsOf, ROUNDS, type Measurement } from '../compare.ts'
import type { Outcome } from '../outcome.ts'
import type { Headers } from '../requests.ts'
import { median } from '../statistics.ts'
import { callCandidate } from './enterprise.ts'
import { enterpriseOptions, server } from './enterprise-gateway.ts'
import { inTurns } from './in-turns.ts'
import { cpuOutcome, type Row } from './row.ts'

const SERVERS = 20
const TOOLS = 36
const full = { users: 2_000, rules: 200 }
const quick = { users: 50, rules: 20 }
const WRITES = 20
const STARTS = 5

/** Gateway where people sign in, and the headers of a person's client. */
interface SignedIn {
  readonly gateway: Gateway
  readonly headers: Headers
}

async function post({ admin }: Gateway, path: string, body: object): Promise<void> {
  await (await admin('POST', path, body)).text()
}

/** Settings of a gateway where people sign in, its store, and a provider in this process. */
interface Company {
  readonly idp: Awaited<ReturnType<typeof startIdentityProvider>>
  readonly publicUrl: string
  readonly options: GatewayOptions
}

async function company(bench: Bench): Promise<Company> {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const idp = await startIdentityProvider({ redirectUris: [`${publicUrl}/auth/callback`] })
  bench.addCleanup(() => idp.close())
  const options = enterpriseOptions({
    TOWPATH_PUBLIC_URL: publicUrl,
    TOWPATH_AUTH: 'embedded',
    TOWPATH_OIDC_ISSUER: idp.issuer,
    TOWPATH_OIDC_CLIENT_ID: idp.clientId,
    TOWPATH_OIDC_CLIENT_SECRET: idp.clientSecret
  })
  return { idp, publicUrl, options: { ...options, port, place: await bench.place() } }
}

/**
 * Fills the store. The process that did it is not measured: thousands of writes before the calls would change how
 * Node.js compiles shared code.
 */
async function fillStore(
  bench: Bench,
  { options }: Company,
  upstreamUrl: string,
  fill: (gateway: Gateway) => Promise<void>
): Promise<void> {
  const gateway = await bench.gateway(options)
  await gateway.register('bench', server(upstreamUrl))
  const targets = { servers: ['bench'] }
  await post(gateway, '/policies', { name: 'sre', effect: 'allow', subjects: { groups: ['sre'] }, targets })
  await fill(gateway)
  await gateway.stop()
}

/** Starts the gateway; alice, who is in the group `sre`, lets a client in. */
async function signIn(bench: Bench, { idp, publicUrl, options }: Company): Promise<SignedIn> {
  const gateway = await bench.gateway(options)
  const provider = { ...idp, credentials: (login: string) => ({ login, password: 'any' }) }
  const { tokens } = await connectClient({ url: publicUrl, publicUrl, provider })
  return { gateway, headers: { authorization: `Bearer ${tokens.access_token}` } }
}

/** Rules over 20 servers, 40 groups and 30 clients; a tenth of them have conditions on arguments. */
const ruleOf = (index: number) => ({
  name: `rule_${index}`,
  effect: index % 5 === 4 ? 'deny' : 'allow',
  subjects:
    index % 2 === 0 ? { groups: [index % 40 === 0 ? 'sre' : `group_${index % 40}`] } : { clients: [`c${index % 30}`] },
  targets: { servers: [`server_${index % SERVERS}`], tools: [`tool_${index % TOOLS}`, 'get_*'] },
  ...(index % 10 === 0 && { when: 'args.message.size() < 100' })
})

async function addServers({ register }: Gateway, upstreamUrl: string): Promise<void> {
  const url = `${upstreamUrl}/mcp?tools=${TOOLS}`
  await inTurns(SERVERS, (index) => register(`server_${index}`, { transport: 'streamable_http', url }))
}

/** Returns the milliseconds of each write until it is served. */
async function write({ admin }: Gateway): Promise<number[]> {
  const took: number[] = []
  for (let index = 0; index < WRITES; index++) {
    const verb = index % 2 === 0 ? 'disable' : 'enable'
    const begun = performance.now()
    await (await admin('POST', `/tools/${verb}?entity=server_0__tool_1`)).text()
    took.push(performance.now() - begun)
  }
  return took
}

/** Rows of people who sign in, and PO-14 of the black-box checks: policies against almost none. */
export const signedInCalls: Row = {
  numbers: [14, 15],
  work: '`tools/call` 200 B of people who sign in, and policies',
  limitSeconds: 300,
  async run(bench) {
    const size = bench.isQuick ? quick : full
    const { url } = await bench.target('upstream.ts')
    const open = { place: await bench.place() }
    const [plain, ruled] = [await company(bench), await company(bench)]
    const unlimited = await bench.gateway(open)
    await unlimited.register('bench', server(url))
    await addServers(unlimited, url)
    await unlimited.stop()
    await fillStore(bench, plain, url, (gateway) => addServers(gateway, url))
    await fillStore(bench, ruled, url, async (gateway) => {
      await addServers(gateway, url)
      await inTurns(size.users, (index) => post(gateway, '/users', { name: `user_${index}` }))
      await inTurns(size.rules - 1, (index) => post(gateway, '/policies', ruleOf(index)))
    })
    const writes: { readonly before: number[]; readonly after: number[] } = { before: [], after: [] }
    const measured = await compareStarts(
      bench,
      STARTS,
      async () => {
        const development = await bench.gateway(open)
        const [few, many] = [await signIn(bench, plain), await signIn(bench, ruled)]
        return {
          candidates: [
            callCandidate('signed in', few.gateway, few.headers),
            callCandidate('with rules', many.gateway, many.headers),
            callCandidate('development', development, {})
          ],
          async stop() {
            writes.before.push(...(await write(few.gateway)))
            writes.after.push(...(await write(many.gateway)))
            for (const gateway of [many.gateway, few.gateway, development]) await gateway.stop()
          }
        }
      },
      { rounds: ROUNDS / 2 }
    )
    const [jwt, rules, free] = measured as [Measurement, Measurement, Measurement]
    const { before, after } = writes
    const amount = `${size.rules} policies, ${SERVERS * TOOLS} tools, ${size.users.toLocaleString('en')} users`
    return [
      cpuOutcome(
        {
          row: 14,
          work: '`tools/call` 200 B, access token of a person',
          reference: 'itself in development mode',
          atMost: 1.1
        },
        jwt,
        free
      ),
      cpuOutcome(
        { row: 15, work: `the same with ${amount}`, reference: 'itself with one policy', atMost: 1.05 },
        rules,
        jwt
      ),
      {
        row: 15,
        work: amount,
        reference: 'itself with one policy',
        measure: 'a write until it is served, more than without them',
        goal: { atMost: 20, unit: 'ms' },
        value: median(after) - median(before),
        unit: 'ms',
        errors: errorsOf(rules, jwt),
        note: `${median(after).toFixed(1)} ms against ${median(before).toFixed(1)} ms`
      } satisfies Outcome
    ]
  }
}
