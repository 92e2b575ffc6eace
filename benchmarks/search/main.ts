import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { withSection } from '../page.ts'
import { breakEven, costsOf } from './cost.ts'
import { readFunctionCalls } from './data.ts'
import { report, type SearchReport } from './report.ts'
import { recalls } from './retrieval.ts'
import { measureSpeed } from './speed.ts'

const FILE = fileURLToPath(new URL('../../docs/reference/performance.md', import.meta.url))
/** Numbers of tools whose costs are shown. */
const shown = [10, 20, 40, 100, 526]
/** Numbers of tasks in a session. */
const sessions = [1, 3, 10]

const { values: options } = parseArgs({ options: { write: { type: 'boolean', default: false } } })

const data = await readFunctionCalls()
// first, because memory is measured
const speed = await measureSpeed(data)
const steps = [...Array(100).keys()].map((i) => i + 1)
const small = costsOf(data, steps)
const result: SearchReport = {
  speed,
  tools: data.tools.length,
  requests: data.requests.length,
  recalls: recalls(data),
  costs: costsOf(data, shown),
  breakEven: sessions.map((tasks) => ({ tasks, tools: breakEven(small, tasks) }))
}
const { text, isMet } = report(result)
console.log(text)
if (options.write) await writeFile(FILE, withSection(await readFile(FILE, 'utf8'), 'Search mode', text))
process.exitCode = isMet ? 0 : 1
