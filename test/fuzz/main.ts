import { parseArgs } from 'node:util'
import { runStandalone } from '../standalone.ts'
import { fuzzClients } from './client.ts'
import type { Mode } from './target.ts'
import { fuzzUpstreams } from './upstream.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    from: { type: 'string', default: '0' },
    mode: { type: 'string' },
    only: { type: 'string' }
  }
})
const kinds = { client: fuzzClients, upstream: fuzzUpstreams }
const chosen = values.only === undefined ? Object.keys(kinds) : [values.only]
const unknown = chosen.find((name) => !(name in kinds))
if (unknown !== undefined) throw new Error(`--only takes client or upstream, not ${unknown}`)

const seed = Number(values.seed)
const options = {
  seconds: Number(values.seconds) / chosen.length,
  seed,
  from: Number(values.from),
  modes: values.mode ? [values.mode as Mode] : (['development', 'enterprise'] as const)
}
console.log(`seed ${seed}`)
let findings = 0
for (const name of chosen as (keyof typeof kinds)[]) {
  const begun = Date.now()
  const outcome = await runStandalone((t) => kinds[name](t, options))
  const seconds = Math.round((Date.now() - begun) / 1_000)
  console.log(`${name}: ${outcome.cases} cases in ${seconds} s, seed ${seed}, ${outcome.findings} findings`)
  findings += outcome.findings
}
process.exit(findings === 0 ? 0 : 1)
