import { fileURLToPath } from 'node:url'
import { compare, type Measurement } from '../compare.ts'
import { onSharedCore } from '../processes.ts'
import { calls, legacyRequest, openSessions, post, times } from '../requests.ts'
import { CONNECTIONS, cpuOutcome, type Row } from './row.ts'

const work = 'stdio, `stateful` mode, 16 callers'
const server = fileURLToPath(new URL('../targets/stdio-server.mjs', import.meta.url))
const [command, ...args] = onSharedCore([process.execPath, server])
const params = { name: 'bench__echo', arguments: { message: 'hello' } }
const piped = JSON.stringify({
  jsonrpc: '2.0',
  id: 10_000_000,
  method: 'tools/call',
  params: { ...params, name: 'echo' }
})

export const stdioCalls: Row = {
  numbers: [7],
  work,
  limitSeconds: 60,
  async run(bench) {
    const pipe = await bench.target('pipe.ts', { COMMAND: JSON.stringify([command, ...args]) }, true)
    const { pid, url, mcp, register } = await bench.gateway()
    await register('bench', { transport: 'stdio', command, args, session_mode: 'stateful' })
    const sessions = await openSessions(mcp, CONNECTIONS)
    const through = sessions.map((headers) => legacyRequest(mcp, 'tools/call', params, headers))
    const bare = times(CONNECTIONS, () => post(pipe.url, { 'content-type': 'application/json' }, piped))
    const candidates = [
      { name: 'gateway', pid, target: calls(url, through) },
      { name: 'pipe', pid: pipe.pid, target: calls(pipe.url, bare) }
    ]
    const [one, other] = (await compare(bench, candidates)) as [Measurement, Measurement]
    return [cpuOutcome({ row: 7, work, reference: 'the bare pipe', atMost: 2 }, one, other)]
  }
}
