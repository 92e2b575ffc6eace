import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Gateway } from '../../e2e/harness.ts'
import { sample } from '../measure.ts'
import { ofCaller, ofClient } from './client-bursts.ts'
import { deploy, tokens, type Deployment } from './deployment.ts'
import { callableOf } from './hostile-tools.ts'
import { createLatency, type Latency } from './latency.ts'
import { LIMIT_MB } from './limit.ts'
import { administer, measure, switchHostile } from './others.ts'
import { NICE, start } from './processes.ts'
import { BESIDE, missing, printPhases, violations, type Phase } from './report.ts'
import { ofVisitor } from './visitor-bursts.ts'

/** Length of each quiet phase, before, between and after the attacks, as a share of the attack time. */
const QUIET_PART = 0.1
/** Time after which the requests of an attack have completed or timed out. */
const SETTLE_MS = 5_000

async function watchMemory(gateway: Gateway, stop: AbortSignal): Promise<number> {
  let most = 0
  while (!stop.aborted && gateway.child.exitCode === null && gateway.child.signalCode === null) {
    most = Math.max(most, sample(gateway.pid, 0).rssMb)
    await delay(250)
  }
  return most
}

/** Gateways of a run. */
interface Gateways {
  readonly deployment: Deployment
  /** A gateway that nobody attacks: its response times tell the part of the machine. */
  readonly beside: Deployment | undefined
}

/** Runs one phase with these attackers. */
async function phase(
  t: TestContext,
  { deployment, beside }: Gateways,
  ms: number,
  attackers: readonly (readonly string[])[]
) {
  const latency = createLatency()
  const besides: Latency = { ...latency, record: (kind, time) => latency.record(`${BESIDE}${kind}`, time) }
  const bursts = new Map<string, number>()
  const stop = AbortSignal.timeout(ms)
  const children = attackers.map((args) => start(t, './attacker.ts', args))
  for (const child of children) child.on('message', (name: string) => bursts.set(name, (bursts.get(name) ?? 0) + 1))
  const isAttack = attackers.some(([kind]) => kind !== 'nobody')
  const [rssMb] = await Promise.all([
    watchMemory(deployment.gateway, stop),
    measure(deployment, latency, stop),
    beside && measure(beside, besides, stop),
    isAttack ? administer(deployment, latency, stop) : undefined
  ])
  for (const child of children) child.kill('SIGKILL')
  return { latency, rssMb, bursts }
}

/** Returns the attackers of each mode, with their arguments. In development mode every caller is an administrator. */
function attackersOf({ gateway, isEnterprise, hostile }: Deployment, seed: number): string[][] {
  const of = (kind: string, at: number, ...token: string[]) => [
    kind,
    `${gateway.port}`,
    `${seed + at}`,
    hostile.join(),
    ...token
  ]
  if (!isEnterprise) return [of('caller', 0), of('visitor', 1)]
  const { attacker } = tokens
  return [of('client', 0, attacker), of('caller', 1, attacker), of('visitor', 2)]
}

const attacksOf = ({ isEnterprise, hostile }: Deployment) => ({
  caller: ofCaller(callableOf(hostile)),
  visitor: ofVisitor,
  ...(isEnterprise && { client: ofClient })
})

/**
 * Attacks a gateway with a client of the fewest permissions, an anonymous visitor and hostile servers. `hasBeside`: a
 * second gateway is measured that nobody attacks. Returns the violations.
 */
export async function soakHostile(
  t: TestContext,
  minutes: number,
  isEnterprise: boolean,
  seed: number,
  servers: readonly string[],
  hasBeside: boolean
): Promise<string[]> {
  const deployment = await deploy(t, isEnterprise, servers)
  const { gateway, limit } = deployment
  const gateways = { deployment, beside: hasBeside ? await deploy(t, isEnterprise, []) : undefined }
  console.log(
    `${isEnterprise ? 'enterprise' : 'development'} mode, seed ${seed}, hostile servers: ${servers.join(', ')}; ` +
      `attackers run at nice ${NICE}, with pauses; while it is quiet as many processes use the CPU in their place`
  )
  if (limit) console.log(`memory: held to ${LIMIT_MB} MB by a control group of the kernel`)
  else console.warn(`*** memory is only WATCHED against ${LIMIT_MB} MB: no control group can be made here ***`)
  const attackers = attackersOf(deployment, seed)
  const [quiet, attacked]: [Phase[], Phase[]] = [[], []]
  const ms = minutes * 60_000
  const isRunning = () => gateway.child.exitCode === null && gateway.child.signalCode === null
  const rest = async () => {
    await switchHostile(deployment, 'disable')
    await delay(SETTLE_MS)
    quiet.push(
      await phase(
        t,
        gateways,
        ms * QUIET_PART,
        attackers.map(() => ['nobody', '0', '0'])
      )
    )
    await switchHostile(deployment, 'enable')
  }
  const problems: string[] = []
  try {
    await rest()
    for (let half = 0; half < 2 && isRunning(); half++) {
      attacked.push(await phase(t, gateways, ms / 2, attackers))
      if (isRunning()) await rest()
    }
  } catch (error) {
    problems.push(`between two attacks: ${(error as Error).message}`)
  }
  printPhases(quiet, attacked)
  const counts = new Map<string, number>()
  for (const { bursts } of attacked)
    for (const [name, count] of bursts) counts.set(name, (counts.get(name) ?? 0) + count)
  console.table(Object.fromEntries(counts))
  const most = Math.max(...attacked.map(({ rssMb }) => rssMb))
  const resident = quiet.map(({ rssMb }) => rssMb.toFixed(0)).join(', ')
  console.log(`resident memory: ${resident} MB at most while quiet, ${most.toFixed(0)} MB attacked`)
  if (limit) console.log(`control group: ${limit.peakMb()?.toFixed(0)} MB at most, files in the page cache included`)
  problems.push(...violations(quiet, attacked), ...missing(attacked, attacksOf(deployment), minutes))
  if (!isRunning()) {
    const { exitCode, signalCode } = gateway.child
    problems.unshift(`the gateway has ended: ${exitCode ?? signalCode} ${gateway.output().slice(-1_500)}`)
  }
  if (most >= LIMIT_MB) problems.push(`${most.toFixed(0)} MB were resident, ${LIMIT_MB} MB are allowed`)
  return problems
}
