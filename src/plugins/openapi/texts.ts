export const about = `Management API and MCP endpoints of the gateway. Every response of the management API that is not 2xx is \`{error}\`, in some cases with a machine-readable \`code\`. A method that a path does not support is a 405.

Development mode has no authentication. In enterprise mode the management API requires the token of a user or administrator, and the MCP endpoints require the token of an MCP client, or a personal access token with the scope \`mcp\`.`

/** Groups of operations, in display order. */
export const tags = [
  { name: 'system', description: 'State and initialisation of the gateway' },
  { name: 'servers', description: 'Upstream MCP servers: registration, enabled states, sign-ins' },
  { name: 'catalogue', description: 'MCP servers that can be installed' },
  { name: 'tools', description: 'Tools of the registered servers: list, call, enable and disable' },
  { name: 'prompts', description: 'Prompts of the registered servers: list, render, enable and disable' },
  { name: 'resources', description: 'Resources of the registered servers: list, read, enable and disable' },
  { name: 'skills', description: 'Skills of the registered servers: list, enable and disable' },
  { name: 'definitions', description: 'Review of what servers say about their items, and of its changes' },
  { name: 'tool groups', description: 'MCP endpoints with selected tools' },
  { name: 'me', description: 'The own account and its access tokens, in enterprise mode' },
  { name: 'users', description: 'Users of the management API, their roles and access tokens, in enterprise mode' },
  { name: 'clients', description: 'MCP clients and the servers that each may use, in enterprise mode' },
  { name: 'oauth clients', description: 'OAuth clients that registered themselves, in enterprise mode' },
  { name: 'teams', description: 'People whom policies name together, in enterprise mode' },
  { name: 'policies', description: 'Rules about who may use which items' },
  { name: 'approvals', description: 'Calls that may run only after a yes' },
  { name: 'calls', description: 'Log and statistics of calls' },
  { name: 'audit', description: 'Log of changes and refusals' },
  { name: 'keys', description: 'Encryption of stored secrets' },
  {
    name: 'mcp',
    description: 'Endpoints of the Model Context Protocol, for MCP clients',
    externalDocs: { description: 'Specification of the protocol', url: 'https://modelcontextprotocol.io/specification' }
  }
] as const

export const securitySchemes = {
  token: { type: 'http', scheme: 'bearer', description: 'Access token of a user' },
  clientToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'Access token of an MCP client, or a personal access token with the scope `mcp`'
  }
} as const

/** Rules by transport that `routes/server-config.ts` enforces with its own messages. */
export const serverRules = {
  if: { properties: { transport: { const: 'stdio' } } },
  then: { required: ['command'], properties: { command: { minLength: 1 } } },
  else: {
    required: ['url'],
    properties: {
      url: { pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' },
      bearer_token: { pattern: '^[\\x21-\\x7e]*$' }
    }
  }
} as const
