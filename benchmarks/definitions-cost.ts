import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../src/app.ts'
import { readConfig } from '../src/config/config.ts'
import { startHttp } from '../test/fixtures/http/server.ts'
import { answerFor } from '../test/fixtures/listed/answers.mjs'
import { interleaved, median, medianRatio } from './statistics.ts'

/**
 * `npm run bench:definitions`: time to read 5,000 unchanged tools again under the policy `pin`, compared with `follow`
 * (goal: at most 1.2 times). Prints the medians of alternating rounds and their ratio; ends with 1 if the goal is missed.
 */
const TOOLS = 5_000
const ROUNDS = Number(process.env.ROUNDS ?? 15)
const GOAL = 1.2
const policies = ['follow', 'pin', 'block'] as const

const properties = Object.fromEntries(
  Array.from({ length: 8 }, (_, at) => [`argument_${at}`, { type: 'string', description: `What it stands for, ${at}` }])
)
const tools = Array.from({ length: TOOLS }, (_, at) =>
  JSON.stringify({
    name: `tool_${at}`,
    title: `Tool ${at}`,
    description: `Does the thing with number ${at}, as the people who run the server describe it in a sentence or two.`,
    inputSchema: { type: 'object', properties, required: ['argument_0'] },
    annotations: { readOnlyHint: at % 2 === 0 }
  })
)
const lists = { tools, prompts: [], resources: [], templates: [] }

async function open(policy: (typeof policies)[number], url: string) {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-definitions-'))
  const env = {
    PATH: process.env.PATH,
    TOWPATH_DATA_DIR: join(dataDir, 'data'),
    TOWPATH_DEFINITIONS: policy,
    TOWPATH_LOG_LEVEL: 'error'
  }
  const app = await buildApp(readConfig(env, {}, () => '').config)
  await app.ready()
  const post = async (path: string, payload?: object) => {
    const answer = await app.inject({ method: 'POST', url: `/api/v0${path}`, ...(payload && { payload }) })
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${answer.body.slice(0, 300)}`)
  }
  await post('/servers', { name: 's', transport: 'streamable_http', url })
  return {
    policy,
    async reread() {
      const start = performance.now()
      await post('/servers/s/refresh')
      return performance.now() - start
    },
    async close() {
      await app.close()
      await rm(dataDir, { recursive: true, force: true })
    }
  }
}

const server = await startHttp(({ method, message }, response) => {
  if (method !== 'POST') return void response.writeHead(405).end()
  if (message?.id === undefined || message.method === undefined) return void response.writeHead(202).end()
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},${answerFor(lists, message)}}`)
})
const gateways = []
for (const policy of policies) gateways.push(await open(policy, `${server.origin}/mcp`))
const times = new Map(policies.map((policy) => [policy, [] as number[]]))
for (let round = -2; round < ROUNDS; round++) {
  const order = interleaved(gateways, round)
  for (const { policy, reread } of order) {
    const ms = await reread()
    if (round >= 0) times.get(policy)!.push(ms)
  }
}
for (const gateway of gateways) await gateway.close()
await server.close()
const ratioOf = (policy: (typeof policies)[number]) => medianRatio(times.get(policy)!, times.get('follow')!)
for (const policy of policies) {
  console.log(
    `${policy.padEnd(6)} ${median(times.get(policy)!).toFixed(0).padStart(5)} ms  ${ratioOf(policy).toFixed(3)} × follow`
  )
}
const worst = Math.max(...policies.map(ratioOf))
console.log(`${TOOLS} unchanged tools, ${ROUNDS} rounds: ${worst.toFixed(3)}, goal ${GOAL}`)
process.exitCode = worst <= GOAL ? 0 : 1
