import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { addCleanup } from '../store.ts'
import { rest } from './definition-helpers.ts'
import { startMcp } from './mcp-helpers.ts'
import type { Hit } from './search-helpers.ts'

const subjects: Readonly<Record<string, readonly string[]>> = {
  tracker: ['issue', 'label', 'milestone', 'sprint', 'board', 'comment', 'epic', 'release', 'component', 'attachment'],
  shop: ['order', 'customer', 'product', 'coupon', 'refund', 'shipment', 'invoice', 'cart', 'supplier', 'warehouse'],
  cloud: ['cluster', 'bucket', 'secret', 'database', 'queue', 'function', 'network', 'volume', 'certificate', 'alarm'],
  office: ['calendar', 'meeting', 'contact', 'document', 'spreadsheet', 'slide', 'mailbox', 'note', 'reminder', 'form']
}
const verbs: Readonly<Record<string, string>> = {
  create: 'Creates',
  delete: 'Deletes',
  get: 'Returns',
  list: 'Lists all of the kind',
  update: 'Changes the fields of',
  archive: 'Moves to the archive',
  restore: 'Brings back from the archive',
  share: 'Gives other people access to',
  export: 'Writes to a file',
  count: 'Returns the number of the kind'
}
const reading = new Set(['get', 'list', 'count'])

/** Returns a hundred tools of one server. */
const toolsOf = (server: string) =>
  subjects[server]!.flatMap((subject) =>
    Object.entries(verbs).map(([verb, does]) => ({
      name: `${verb}_${subject}`,
      description: `${does}: ${subject} of the ${server}. Fields that are not given keep their values.`,
      inputSchema: {
        type: 'object',
        properties: {
          id: { type: 'string', description: `Id of the ${subject}` },
          title: { type: 'string', description: `Title of the ${subject}` },
          fields: { type: 'object', description: `Further fields of the ${subject}, by their names` }
        },
        required: verb === 'create' ? ['title'] : verb === 'list' || verb === 'count' ? [] : ['id']
      },
      annotations: { readOnlyHint: reading.has(verb), destructiveHint: verb === 'delete' }
    }))
  )

/** Tasks of a user, the query that the model makes of it, and the values that it knows. */
const tasks = [
  {
    query: 'open an issue',
    ask: 'Open a new issue with the title "Login fails"',
    values: { title: 'Login fails' },
    tool: 'tracker__create_issue'
  },
  {
    query: 'count the refunds of the shop',
    ask: 'How many refunds are there in the shop?',
    values: {},
    tool: 'shop__count_refund'
  },
  {
    query: 'remove a bucket',
    ask: 'Remove the bucket b-17 for good',
    values: { id: 'b-17' },
    tool: 'cloud__delete_bucket'
  }
]
type Task = (typeof tasks)[number]

interface Step {
  readonly tool: string
  readonly arguments: Record<string, unknown>
}

/** Chooses the next step as a model would: searches, then calls the best hit with the values that its schema takes. */
function nextStep({ query, values }: Task, hits: readonly Hit[] | undefined): Step {
  if (!hits) return { tool: 'find_tools', arguments: { query } }
  const { name, definition } = hits[0]!
  const { annotations, inputSchema } = definition as ReturnType<typeof toolsOf>[number]
  const known = Object.entries(values).filter(([key]) => key in inputSchema.properties)
  const tool = annotations.readOnlyHint ? 'read_tool' : 'call_tool'
  return { tool, arguments: { name, arguments: Object.fromEntries(known) } }
}

const tokens = (value: unknown) =>
  Math.ceil(Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value)) / 4)

test('an agent with an SDK client finishes three tasks over 400 tools in search mode', async (t) => {
  const mcp = await startMcp(t)
  const servers = Object.keys(subjects)
  for (const name of servers) {
    const recorder = await startRecorder(t, { name, extraTools: toolsOf(name) })
    const description = `Everything about the ${name}: ${subjects[name]!.join(', ')}.`
    const server = { name, transport: 'streamable_http', url: recorder.url, description }
    assert.equal((await rest(mcp.app, 'POST', '/servers', server)).status, 201)
  }
  const own = ['echo', 'slow', 'whoami', 'fail']
  const excluded_tools = servers.flatMap((name) => own.map((tool) => `${name}__${tool}`))
  for (const tool_list of ['full', 'search']) {
    const group = { name: tool_list, included_servers: servers, excluded_tools, tool_list }
    assert.equal((await rest(mcp.app, 'POST', '/tool-groups', group)).status, 201)
  }
  const connect = async (group: string) => {
    const client = new Client({ name: 'agent', version: '1' })
    const url = new URL(`/v0/groups/${group}/mcp`, mcp.url)
    await client.connect(new StreamableHTTPClientTransport(url) as Transport)
    addCleanup(t, () => client.close())
    return client
  }
  const full = await (await connect('full')).listTools()
  assert.equal(full.tools.length, 400)
  const agent = await connect('search')
  const { tools } = await agent.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['find_tools', 'read_tool', 'call_tool']
  )
  const list = tokens(tools)
  assert.ok(list <= 1_500)
  t.diagnostic(
    `tools/list: ${tools.map(({ name }) => name).join(', ')} (~${list} tokens; whole list ~${tokens(full.tools)})`
  )
  let sum = list
  for (const task of tasks) {
    t.diagnostic(`user: ${task.ask}`)
    let hits: readonly Hit[] | undefined
    for (let turn = 0; turn < 2; turn++) {
      const step = nextStep(task, hits)
      const result = await agent.callTool({ name: step.tool, arguments: step.arguments })
      const [{ text }] = result.content as [{ text: string }]
      const cost = tokens(step) + tokens(text)
      sum += cost
      t.diagnostic(`  model: ${step.tool} ${JSON.stringify(step.arguments)} (~${cost} tokens with the answer)`)
      hits = (result.structuredContent as { tools: readonly Hit[] } | undefined)?.tools
      const shown = turn === 0 ? hits!.map(({ name }) => name).join(', ') : text
      t.diagnostic(`  ${turn === 0 ? 'hits' : 'result'}: ${shown}`)
      if (turn === 0) continue
      assert.equal(step.arguments['name'], task.tool)
      assert.deepEqual((JSON.parse(text) as { arguments: unknown }).arguments, task.values)
    }
  }
  t.diagnostic(`three tasks: ~${sum} tokens, ${((100 * sum) / tokens(full.tools)).toFixed(1)} % of the whole list`)
  assert.ok(sum < tokens(full.tools) / 5)
})
