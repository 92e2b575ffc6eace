import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, promisify } from 'node:util'
import type { ToolOverride, ToolOverrides } from '../../src/domain/overrides/tool-overrides.ts'
import type { Bench, Gateway } from '../bench.ts'
import type { Tool } from '../search/data.ts'

const run = promisify(execFile)
const cli = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url))
/** Tools that a group picks, shortens and locks. */
const PICKED = 40

/** Result of carrying overrides through everything that stores them. */
export interface RoundTrip {
  /** Tools that the gateway serves of the set */
  readonly tools: number
  readonly picked: number
  readonly locked: number
  readonly before: number
  readonly after: number
  /** Steps that lost something; empty if none did */
  readonly lost: readonly string[]
}

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly protocolVersion?: string }
}

/** Starts a server that lists the tools, and ends with the bench. */
async function serve(bench: Bench, tools: readonly Tool[]): Promise<string> {
  const list = `{"tools":[${tools.map(({ definition }) => definition).join(',')}]}`
  const server = createServer((request, response) => {
    const answer = async () => {
      const { id, method, params } = (await json(request)) as Message
      if (id === undefined) return void response.writeHead(202).end()
      const protocolVersion = params?.protocolVersion ?? '2025-11-25'
      const hello = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'set', version: '1' } }
      const results = new Map([
        ['initialize', JSON.stringify(hello)],
        ['tools/list', list],
        ['ping', '{}']
      ])
      const result = results.get(method)
      const body = result === undefined ? '"error":{"code":-32601,"message":"Method not found"}' : `"result":${result}`
      response.writeHead(200, { 'content-type': 'application/json' }).end(`{"jsonrpc":"2.0","id":${id},${body}}`)
    }
    answer().catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  bench.addCleanup(() => server.close())
  const { port } = server.address() as { port: number }
  return `http://127.0.0.1:${port}/mcp`
}

interface Served {
  readonly tool: string
  readonly definition: { readonly description?: string; readonly inputSchema: { readonly properties?: object } }
}

/** Returns the first argument that takes a text. */
const textArgument = ({ inputSchema: { properties = {} } }: Served['definition']) =>
  Object.entries(properties as Record<string, { type?: string; enum?: unknown }>).find(
    ([, { type, enum: allowed }]) => type === 'string' && allowed === undefined
  )?.[0]

/** Shortens the description to its first sentence, and locks the first argument that takes a text. */
function overrideOf({ definition }: Served): ToolOverride {
  const argument = textArgument(definition)
  return {
    description: (definition.description ?? '').split(/(?<=[.!?])\s/, 1)[0]!,
    ...(argument === undefined ? {} : { arguments: { [argument]: { lock: 'locked "ü"' } } })
  }
}

const textOf = async (answer: Promise<Response>) => (await answer).text()
const definitions = (gateway: Gateway) =>
  textOf(gateway.admin('GET', '/tool-groups/views/effective-tools?detail=definitions'))

/** Carries overrides of 40 tools through preview, saving, export and apply. Needs the build. */
export async function roundTrip(bench: Bench, tools: readonly Tool[]): Promise<RoundTrip> {
  const gateway = await bench.gateway()
  await gateway.register('set', { transport: 'streamable_http', url: await serve(bench, tools) })
  const all = { name: 'all', included_servers: ['set'] }
  const offered = JSON.parse(await textOf(gateway.admin('POST', '/tool-groups/preview', all))) as {
    definitions: Served[]
  }
  const step = Math.floor(offered.definitions.length / PICKED)
  const picked = offered.definitions.filter((_, index) => index % step === 0).slice(0, PICKED)
  const overrides: ToolOverrides = Object.fromEntries(picked.map((each) => [each.tool, overrideOf(each)]))
  const group = { name: 'views', included_tools: picked.map(({ tool }) => tool), tools: overrides }

  const lost: string[] = []
  const expect = (what: string, isKept: boolean) => void (isKept || lost.push(what))
  const preview = await textOf(gateway.admin('POST', '/tool-groups/preview', group))
  await gateway.admin('POST', '/tool-groups', group)
  expect('preview', preview === (await definitions(gateway)))
  const stored = async () => (await (await gateway.admin('GET', '/tool-groups/views')).json()) as { tools: object }
  const saved = await stored()
  expect('save', isDeepStrictEqual(saved.tools, overrides))

  const folder = await mkdtemp(join(tmpdir(), 'towpath-views-'))
  bench.addCleanup(() => rm(folder, { recursive: true, force: true }))
  const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1' }
  const towpath = (...args: string[]) => run(process.execPath, [cli, '--registry', gateway.url, ...args], { env })
  await towpath('export', '-d', join(folder, 'files'))
  await gateway.admin('DELETE', '/tool-groups/views')
  await towpath('apply', '-f', join(folder, 'files'))
  expect('export and apply', isDeepStrictEqual(await stored(), saved))
  expect('definitions after apply', preview === (await definitions(gateway)))
  const { tokens, tokens_before } = JSON.parse(preview) as { tokens: number; tokens_before: number }
  return {
    tools: offered.definitions.length,
    picked: picked.length,
    locked: Object.values(overrides).filter((each) => each.arguments).length,
    before: tokens_before,
    after: tokens,
    lost
  }
}
