import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { addCleanup } from '../store.ts'

/** Measures the response time of this machine, so that a busy machine is not taken for a hanging gateway. */
export interface Machine {
  /** Returns the slowest recent response time of an idle process, in milliseconds. */
  delayMs(): number
}

const EVERY_MS = 250
const REMEMBERED_MS = 15_000

const program = `
  const server = require('node:http').createServer((_, response) => response.end('ok'))
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))
  process.stdin.on('end', () => process.exit()).resume()
`

export async function startMachine(t: TestContext): Promise<Machine> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] })
  addCleanup(t, () => child.kill('SIGKILL'))
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  const url = `http://127.0.0.1:${port.toString().trim()}/`
  let times: { readonly at: number; readonly tookMs: number }[] = []
  let begun: number | undefined
  const probe = async () => {
    if (begun !== undefined) return
    begun = performance.now()
    await (await fetch(url)).text()
    const at = performance.now()
    times = [...times.filter((time) => at - time.at < REMEMBERED_MS), { at, tookMs: at - begun }]
    begun = undefined
  }
  // at the end of a run the process may be gone before its answer
  const timer = setInterval(() => void probe().catch(() => {}), EVERY_MS)
  addCleanup(t, () => clearInterval(timer))
  await probe()
  return {
    delayMs: () => Math.max(...times.map(({ tookMs }) => tookMs), begun === undefined ? 0 : performance.now() - begun)
  }
}
