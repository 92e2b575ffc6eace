import type { TestContext } from 'node:test'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { parseRequests, withContentLength, write } from './message.ts'
import { mutateBytes, mutateFraming, mutateMeaning } from './mutate.ts'
import { judge, type Case } from './oracle.ts'
import type { Options, Outcome } from './options.ts'
import { createRandom } from './random.ts'
import { readRoutes, seedFor, type Access } from './seeds.ts'
import { shrink } from './shrink.ts'
import { startTarget, type Target } from './target.ts'
import { exchange } from './wire.ts'

const WORKERS = 8
const CHECK_EVERY = 64
/** Recent cases that may have crashed a gateway: those in flight and some before. */
const REMEMBERED = 32

const routes = readRoutes()

/** Returns true if the text names no other port of this machine than the gateway's and the upstream's. */
const isHarmless = (text: string, { upstreamUrl, port }: Access) =>
  [...text.matchAll(/(?:127\.0\.0\.1|localhost)(:\d+)/g)].every(
    ([, given]) => given === `:${port}` || upstreamUrl.includes(`${given}/`)
  )

function makeCase(seed: number, number: number, access: Access): Case {
  const random = createRandom(Math.imul(seed, 0x9e3779b1) + number)
  for (;;) {
    const request = seedFor(random, access, routes)
    const kind = random.below(10)
    const isRequest = kind < 6
    const text = isRequest
      ? write(kind === 0 ? withContentLength(request) : mutateMeaning(random, request))
      : kind < 8
        ? mutateFraming(random, request)
        : mutateBytes(random, request)
    if (isHarmless(text, access)) return { text, isRequest }
  }
}

async function run({ text, isRequest }: Case, { access }: Target): Promise<string | undefined> {
  const { complete, hasRest } = parseRequests(text)
  const isWhole = isRequest && complete.length === 1 && !hasRest
  const patience = isWhole ? { answers: 1, quietMs: 10_000 } : { answers: Infinity, quietMs: 250 }
  const result = await exchange(access.port, text, complete, patience)
  return judge({ text, isRequest: isWhole }, result)
}

interface Finding {
  readonly problem: string
  readonly number: number
  readonly target: Target
  readonly recent: readonly Case[]
}

async function attack(target: Target, seed: number, end: number, step: { next: number }): Promise<Finding | undefined> {
  const recent: Case[] = []
  let finding: Finding | undefined
  const work = async () => {
    while (!finding && Date.now() < end) {
      const number = step.next++
      const each = makeCase(seed, number, target.access)
      recent.push(each)
      if (recent.length > REMEMBERED) recent.shift()
      const problem = await run(each, target)
      if (problem !== undefined) finding ??= { problem, number, target, recent: [each] }
      if (number % CHECK_EVERY !== 0) continue
      const state = await target.check()
      if (state !== undefined) finding ??= { problem: state, number, target, recent: [...recent] }
      else await target.renew()
    }
  }
  await target.renew()
  await Promise.all(Array.from({ length: WORKERS }, work))
  return finding
}

/** Returns the smallest case that fails in the same way, judged by the first words of the problem. */
async function reduce({ problem, target, recent }: Finding): Promise<string[]> {
  if (recent.length > 1 || target.gateway.child.exitCode !== null) return recent.map(({ text }) => text)
  const kind = problem.slice(0, 12)
  const [{ text, isRequest }] = recent as [Case]
  const isFailing = async (candidate: string) =>
    (await run({ text: candidate, isRequest }, target))?.startsWith(kind) ?? false
  return [await shrink(text, isFailing)]
}

async function report(finding: Finding, seed: number): Promise<void> {
  const { problem, number, target } = finding
  console.error(`\nFAILED in ${target.mode} mode, case ${number} of seed ${seed}: ${problem}`)
  for (const text of await reduce(finding)) console.error(JSON.stringify(text))
  console.error(`again: npm run fuzz -- --only client --seed ${seed} --from ${number} --mode ${target.mode}`)
}

/** Sends mutated client requests until the time limit. Returns the numbers of cases and findings. */
export async function fuzzClients(t: TestContext, options: Options): Promise<Outcome> {
  const upstream = await startRecorder(t, { tells: true, modern: true })
  const targets: Target[] = []
  for (const mode of options.modes) targets.push(await startTarget(t, mode, upstream.url))
  const steps = targets.map(() => ({ next: options.from }))
  const end = Date.now() + options.seconds * 1_000
  const findings = await Promise.all(targets.map((target, i) => attack(target, options.seed, end, steps[i]!)))
  const found = findings.filter((finding) => finding !== undefined)
  for (const finding of found) await report(finding, options.seed)
  return { cases: steps.reduce((sum, { next }) => sum + next - options.from, 0), findings: found.length }
}
