import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema
} from '@modelcontextprotocol/sdk/types.js'
import { PRODUCT, TITLE } from '../domain/product.ts'
import { callTool, tools } from './tools.ts'

const about = {
  uri: `demo://${PRODUCT}/about`,
  name: 'about',
  title: `About ${TITLE}`,
  description: 'What this demo server is.',
  mimeType: 'text/plain'
}
const aboutText = `${TITLE} is a gateway for MCP servers. This demo server comes with it: it has three tools, one prompt and this text.`

const summarize = {
  name: 'summarize',
  title: 'Summarize a text',
  description: 'Asks for a short summary of a text.',
  arguments: [{ name: 'text', description: 'The text to summarize', required: true }]
}

const unknown = (what: string, name: string) => new McpError(ErrorCode.InvalidParams, `Unknown ${what}: ${name}`)

const server = new Server(
  { name: `${PRODUCT}-demo`, title: `${TITLE} demo`, version: '1.0.0' },
  { capabilities: { tools: {}, prompts: {}, resources: {} }, instructions: 'Small, harmless tools to try things out.' }
)

server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map((tool) => tool.definition) }))

server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  const tool = tools.find(({ definition }) => definition.name === params.name)
  if (!tool) throw unknown('tool', params.name)
  return callTool(tool, params.arguments ?? {})
})

server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [summarize] }))

server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
  if (params.name !== summarize.name) throw unknown('prompt', params.name)
  const text = params.arguments?.text
  if (text === undefined) throw new McpError(ErrorCode.InvalidParams, 'The argument "text" is missing')
  const content = { type: 'text' as const, text: `Summarize the following text in at most three sentences.\n\n${text}` }
  return { description: summarize.description, messages: [{ role: 'user' as const, content }] }
})

server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [about] }))

server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => {
  if (params.uri !== about.uri) throw unknown('resource', params.uri)
  return { contents: [{ uri: about.uri, mimeType: about.mimeType, text: aboutText }] }
})

await server.connect(new StdioServerTransport())
