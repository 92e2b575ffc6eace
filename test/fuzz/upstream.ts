import type { TestContext } from 'node:test'
import type { Options, Outcome } from './options.ts'
import type { Mode } from './target.ts'
import { perform } from './upstream/act.ts'
import { makePlan, simpler, type Plan } from './upstream/plan.ts'
import { startHostile, type HostileServer } from './upstream/server.ts'
import { startVictim, type Victim } from './upstream/victim.ts'

const WORKERS = 3
/** Cases between two restarts of the gateway, which test the data that upstreams left in its store. */
const RESTART_EVERY = 150
const SHRINK_MS = 60_000

interface Case {
  readonly number: number
  readonly plan: Plan
}

interface Finding {
  readonly problem: string
  readonly mode: Mode
  /** The failing case, or the candidates for it. */
  readonly cases: readonly Case[]
  readonly sent: readonly string[]
}

const nameOf = (worker: number) => `bad${worker}`

/** Runs one case and checks the gateway afterwards. */
async function run(victim: Victim, hostile: HostileServer, name: string, plan: Plan): Promise<string | undefined> {
  const problem = await perform(victim, hostile, name, plan).catch(
    (error: Error) => `no answer: ${error.message} ${(error.cause as Error | undefined)?.message ?? ''}`
  )
  return (await victim.check()) ?? problem
}

/** Runs workers until the next restart; the first finding stops all of them. */
async function round(
  victim: Victim,
  hostile: HostileServer,
  options: Options,
  state: { next: number; end: number }
): Promise<Finding | undefined> {
  const until = state.next + RESTART_EVERY
  const underWay = new Map<number, Case>()
  let finding: Finding | undefined
  const work = async (worker: number) => {
    const name = nameOf(worker)
    while (!finding && state.next < until && Date.now() < state.end) {
      const number = state.next++
      const plan = makePlan(options.seed, number)
      underWay.set(worker, { number, plan })
      const problem = await run(victim, hostile, name, plan)
      if (problem !== undefined)
        finding ??= { problem, mode: victim.mode, cases: [...underWay.values()], sent: [...hostile.sent(name)] }
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)))
  if (finding) return finding
  const problem = await victim.restart(state.next % 2 === 0 ? 'SIGTERM' : 'SIGKILL')
  return problem === undefined ? undefined : { problem, mode: victim.mode, cases: [...underWay.values()], sent: [] }
}

const kindOf = (problem: string) => problem.replace(/\d+/g, '').slice(0, 16)

/** Runs a plan on a fresh gateway. Returns the problem and the bytes sent. */
async function replayPlan(t: TestContext, mode: Mode, hostile: HostileServer, plan: Plan) {
  const victim = await startVictim(t, mode)
  try {
    const problem = (await run(victim, hostile, nameOf(0), plan)) ?? (await victim.restart('SIGTERM'))
    return { problem, sent: [...hostile.sent(nameOf(0))] }
  } finally {
    await victim.gateway().stop('SIGKILL')
  }
}

/** Returns the first case of a finding that fails alone, reduced while it still fails. */
async function shrink(t: TestContext, finding: Finding, hostile: HostileServer): Promise<Finding> {
  const end = Date.now() + SHRINK_MS
  const isSame = (problem: string | undefined): problem is string =>
    problem !== undefined && kindOf(problem) === kindOf(finding.problem)
  let smallest: Finding | undefined
  for (const each of [...finding.cases].reverse()) {
    const { problem, sent } = await replayPlan(t, finding.mode, hostile, each.plan)
    if (!isSame(problem)) continue
    smallest = { problem, mode: finding.mode, cases: [each], sent }
    break
  }
  for (let isSmaller = true; smallest && isSmaller && Date.now() < end;) {
    isSmaller = false
    const [{ number, plan }] = smallest.cases as [Case]
    for (const candidate of simpler(plan)) {
      if (Date.now() > end) break
      const { problem, sent } = await replayPlan(t, finding.mode, hostile, candidate)
      if (!isSame(problem)) continue
      smallest = { problem, mode: finding.mode, cases: [{ number, plan: candidate }], sent }
      isSmaller = true
      break
    }
  }
  return smallest ?? finding
}

function report({ problem, mode, cases, sent }: Finding, seed: number): void {
  console.error(`\nFAILED in ${mode} mode: ${problem}`)
  for (const { number, plan } of cases) {
    console.error(`case ${number} of seed ${seed}: ${JSON.stringify(plan)}`)
    console.error(`again: npm run fuzz -- --only upstream --seed ${seed} --from ${number} --mode ${mode}`)
  }
  for (const text of sent) console.error(`sent: ${JSON.stringify(text)}`)
}

/** Runs mutated upstreams until the time limit. Returns the numbers of cases and findings. */
export async function fuzzUpstreams(t: TestContext, options: Options): Promise<Outcome> {
  const attack = async (mode: Mode) => {
    const [victim, hostile] = [await startVictim(t, mode), await startHostile(t)]
    const end = Date.now() + options.seconds * 1_000
    const state = { next: options.from, end }
    let finding: Finding | undefined
    while (!finding && Date.now() < end) finding = await round(victim, hostile, options, state)
    await victim.gateway().stop('SIGKILL')
    if (finding) report(await shrink(t, finding, hostile), options.seed)
    return { cases: state.next - options.from, findings: finding ? 1 : 0 }
  }
  const outcomes = await Promise.all(options.modes.map(attack))
  const sum = (of: keyof Outcome) => outcomes.reduce((total, outcome) => total + outcome[of], 0)
  return { cases: sum('cases'), findings: sum('findings') }
}
