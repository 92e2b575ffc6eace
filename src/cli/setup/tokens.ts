import { isObject } from '../../domain/is-object.ts'
import { META, MODERN_VERSION } from '../../domain/mcp-constants.ts'
import { estimateTokens } from '../../domain/token-estimate.ts'
import { VERSION } from '../../domain/version.ts'
import { PRODUCT } from '../../domain/product.ts'
import type { Cli } from '../io/cli.ts'
import { Failure, EXIT } from '../io/failure.ts'
import { KINDS } from '../io/kinds.ts'
import { withQuery } from '../io/api.ts'
import type { Records } from '../output/records.ts'

/** Maximum number of pages of a tool list. */
const MAX_PAGES = 1_000

/** Estimates the tokens of the tools of a server under the names that the server gives them. */
export async function tokensOfServer(cli: Cli, server: string): Promise<number> {
  const { body } = await cli.api.get<readonly Records['tool'][]>(withQuery(KINDS.tool.path, { server }))
  const tools = body.map((tool) => ({ ...tool, name: tool.name.slice(server.length + 2) }))
  return tools.reduce((sum, tool) => sum + estimateTokens(tool), 0)
}

interface ToolPage {
  readonly result?: { readonly tools?: unknown; readonly nextCursor?: unknown }
}

async function toolPage(cli: Cli, path: string, token: string | null, cursor: string | undefined) {
  const _meta = {
    [`${META}protocolVersion`]: MODERN_VERSION,
    [`${META}clientInfo`]: { name: `${PRODUCT}-setup`, version: VERSION },
    [`${META}clientCapabilities`]: {}
  }
  const params = cursor === undefined ? { _meta } : { _meta, cursor }
  const { body } = await cli.api.send<ToolPage>(
    'POST',
    path,
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params },
    {
      token,
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN_VERSION,
        'mcp-method': 'tools/list'
      }
    }
  )
  return body.result
}

/**
 * Estimates the tokens of all tools that a client gets at an endpoint, by listing them as a client does. `token` is that
 * of an MCP client; null sends none.
 */
export async function tokensOfEndpoint(cli: Cli, path: string, token: string | null): Promise<number> {
  let sum = 0
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const result = await toolPage(cli, path, token, cursor)
    if (!Array.isArray(result?.tools)) break
    for (const tool of result.tools.filter(isObject)) {
      const description = typeof tool.description === 'string' ? tool.description : ''
      sum += estimateTokens({ name: String(tool.name), description, input_schema: tool.inputSchema })
    }
    if (typeof result.nextCursor !== 'string') return sum
    cursor = result.nextCursor
  }
  throw new Failure(EXIT.failed, `${path} did not list its tools`)
}
