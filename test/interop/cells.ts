import type { Launch } from '../conformance/servers.ts'
import type { Gateway } from './gateway.ts'
import { type Difference, explanationOf } from './known.ts'
import { type Feature, type Outcomes, features, readOutcomes, startServer, tryFeatures } from './outcomes.ts'
import { type Client, type Server, type Transport, servers } from './programs.ts'
import { type Scenario, find } from './scenarios.ts'

export const verdicts = {
  same: 'the same as direct',
  limit: 'fails direct too: the limit of a foreign program',
  none: 'the client has no way to do it',
  better: 'works through the gateway alone',
  known: 'fails through the gateway alone, for a documented reason',
  unsteady: 'failed through the gateway once and worked when it was tried again',
  fault: 'fails through the gateway alone'
} as const
export type Verdict = keyof typeof verdicts

export interface Cell {
  readonly verdict: Verdict
  readonly note: string
}

export interface Row {
  readonly scenario: Scenario
  readonly cells: Readonly<Record<Feature, Cell>>
}

/**
 * Returns a function that reports each client's results without a gateway; each client, server and transport runs once.
 */
export function createDirect(launch: Launch) {
  const known = new Map<string, Promise<Outcomes>>()
  const tryOnce = (client: Client, server: Server, transport: Transport) => {
    const key = [client.name, server.name, transport].join(' ')
    const found = known.get(key) ?? tryDirect(launch, client, server, transport)
    known.set(key, found)
    return found
  }
  return async (scenario: Scenario): Promise<Outcomes> => {
    const { client, server: behind } = scenario
    const server = behind.withoutOAuth === undefined ? behind : find(servers, behind.withoutOAuth)
    const [first, ...more] = directTransports(scenario, server)
    let outcomes = await tryOnce(client, server, first)
    for (const transport of more) outcomes = combineOutcomes(outcomes, await tryOnce(client, server, transport))
    return outcomes
  }
}

/** Returns the transports of both sides of the gateway: a failure over one of them is a limit of the programs. */
function directTransports({ client, clientTransport, serverTransport }: Scenario, server: Server) {
  const [first, ...more] = [...new Set<Transport>([clientTransport, serverTransport])].filter(
    (transport) => client.transports.includes(transport) && server.transports.includes(transport)
  )
  return [first ?? 'http', ...more] as const
}

/** Returns the outcomes that are ok only if both are. */
function combineOutcomes(one: Outcomes, other: Outcomes): Outcomes {
  const pick = (feature: Feature) => (one[feature].outcome === 'ok' ? other[feature] : one[feature])
  return Object.fromEntries(features.map((feature) => [feature, pick(feature)])) as unknown as Outcomes
}

async function tryDirect(launch: Launch, client: Client, server: Server, transport: Transport) {
  const target = await startServer(launch, server, transport)
  try {
    return await tryFeatures(launch, client, target)
  } finally {
    await target.stop()
  }
}

async function tryThrough(launch: Launch, gateway: Gateway, scenario: Scenario): Promise<Outcomes> {
  const target = await startServer(launch, scenario.server, scenario.serverTransport)
  try {
    const { url, args } = await gateway.register(scenario, target)
    const through = { transport: scenario.clientTransport, url, ledger: target.ledger }
    return await tryFeatures(launch, scenario.client, through, args)
  } catch (error) {
    return readOutcomes('', error instanceof Error ? error.message : String(error))
  } finally {
    await gateway.clear(scenario)
    await target.stop()
  }
}

/** Compares one row; features that fail only through the gateway are retried once. */
export async function compare(
  launch: Launch,
  gateway: Gateway,
  direct: Outcomes,
  scenario: Scenario,
  differences: readonly Difference[]
): Promise<Row> {
  const first = await tryThrough(launch, gateway, scenario)
  const isWorse = features.some(
    (feature) => verdictOf(feature, direct, first).verdict === 'fault' && !explanationOf(differences, scenario, feature)
  )
  const second = isWorse ? await tryThrough(launch, gateway, scenario) : first
  const cell = (feature: Feature): Cell => {
    const cells = [verdictOf(feature, direct, first), verdictOf(feature, direct, second)]
    const failed = cells.filter(({ verdict }) => verdict === 'fault')
    const [worst = verdictOf(feature, direct, second)] = failed
    if (failed.length === 0) return worst
    const explained = explanationOf(differences, scenario, feature)
    if (explained) return { verdict: 'known', note: explained.section }
    return failed.length === cells.length ? worst : { ...worst, verdict: 'unsteady' }
  }
  const cells = Object.fromEntries(features.map((feature) => [feature, cell(feature)])) as Row['cells']
  return { scenario, cells }
}

/** Returns the verdict for one feature's pair of outcomes. */
export function verdictOf(feature: Feature, direct: Outcomes, through: Outcomes): Cell {
  const [before, after] = [direct[feature], through[feature]]
  if (before.outcome === 'unsupported') return { verdict: 'none', note: '' }
  if (before.outcome === 'ok' && after.outcome === 'ok') return { verdict: 'same', note: after.note }
  if (before.outcome === 'ok') return { verdict: 'fault', note: after.note || after.outcome }
  return after.outcome === 'ok' ? { verdict: 'better', note: before.note } : { verdict: 'limit', note: before.note }
}
