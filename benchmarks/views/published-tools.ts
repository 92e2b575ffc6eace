import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { cacheFolder, prepareFrom, run } from '../../test/prepared.ts'
import type { Tool } from '../search/data.ts'

const manifest = fileURLToPath(new URL('published-packages.json', import.meta.url))

/** Commands of the packages beside this file, with their arguments. */
const servers: readonly (readonly string[])[] = [
  ['mcp-server-everything'],
  ['mcp-server-filesystem', tmpdir()],
  ['mcp-server-github'],
  ['mcp-server-gitlab'],
  ['mcp-server-memory'],
  ['mcp-server-slack'],
  ['notion-mcp-server'],
  ['playwright-mcp'],
  ['context7-mcp'],
  ['chrome-devtools-mcp'],
  ['firecrawl-mcp'],
  ['mcp-server-kubernetes'],
  ['tavily-mcp']
]

/** Credentials without which some servers do not list their tools; nothing is called with them. */
const credentials = {
  FIRECRAWL_API_KEY: 'x',
  GITHUB_PERSONAL_ACCESS_TOKEN: 'x',
  GITLAB_PERSONAL_ACCESS_TOKEN: 'x',
  NOTION_TOKEN: 'x',
  SLACK_BOT_TOKEN: 'x',
  SLACK_TEAM_ID: 'x',
  TAVILY_API_KEY: 'x'
}

/** Certificates of a registry behind a proxy. */
const { NODE_EXTRA_CA_CERTS } = process.env
const certificates = NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }

/** Installs the pinned packages once, without running their scripts. Returns their folder. */
export async function publishedPackages(): Promise<string> {
  const folder = join(cacheFolder, 'published-mcp-servers')
  const failure = await prepareFrom(folder, [manifest], async () => {
    await copyFile(manifest, join(folder, 'package.json'))
    return run(
      'npm',
      ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--silent'],
      certificates
    )
  })
  if (failure !== undefined) throw new Error(`the published servers cannot be installed: ${failure}`)
  return join(folder, 'node_modules')
}

async function toolsOf(folder: string, [command, ...args]: readonly string[], home: string): Promise<Tool[]> {
  const env = { PATH: process.env.PATH ?? '', HOME: home, ...credentials }
  const path = join(folder, '.bin', command!)
  const transport = new StdioClientTransport({ command: path, args, env, cwd: home, stderr: 'ignore' })
  const client = new Client({ name: 'towpath-bench', version: '1' })
  await client.connect(transport)
  try {
    const { tools } = await client.listTools()
    return tools.map((tool) => ({ name: tool.name, definition: JSON.stringify(tool) }))
  } finally {
    await client.close()
  }
}

/** Returns the tools that published MCP servers list. */
export async function publishedTools(folder: string): Promise<Tool[]> {
  const home = await mkdtemp(join(tmpdir(), 'towpath-published-'))
  try {
    const found: Tool[] = []
    for (const server of servers) found.push(...(await toolsOf(folder, server, home)))
    return found
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
