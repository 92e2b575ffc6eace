/** MCP clients that keep their servers in a file */
export const FILE_CLIENTS = [
  'claude-code',
  'cursor',
  'vscode',
  'codex',
  'claude-desktop',
  'windsurf',
  'gemini-cli',
  'zed',
  'cline',
  'junie',
  'opencode',
  'goose',
  'lm-studio'
] as const
export type FileClient = (typeof FILE_CLIENTS)[number]

/** MCP clients with configuration snippets */
export const CLIENTS = [...FILE_CLIENTS, 'curl', 'typescript'] as const
export type ClientName = (typeof CLIENTS)[number]

export const CLIENT_TITLES: Readonly<Record<ClientName, string>> = {
  'claude-code': 'Claude Code',
  cursor: 'Cursor',
  vscode: 'VS Code',
  codex: 'Codex',
  'claude-desktop': 'Claude Desktop',
  windsurf: 'Windsurf',
  'gemini-cli': 'Gemini CLI',
  zed: 'Zed',
  cline: 'Cline',
  junie: 'Junie',
  opencode: 'opencode',
  goose: 'goose',
  'lm-studio': 'LM Studio',
  curl: 'curl',
  typescript: 'TypeScript SDK'
}

export type ConfigLanguage = 'json' | 'toml' | 'yaml'

/** Audience of the servers in a file: the user everywhere, everyone in a project, or the user in one project. */
export type ConfigScope = 'user' | 'project' | 'local'

/** Operating systems with different paths */
export type System = 'linux' | 'darwin' | 'win32'

/** Element of a path that stands for every member of an object */
export const EVERY_MEMBER = '*'

/** Place in which a client keeps servers: an object in a file that maps their names to their entries */
export interface ConfigPlace {
  readonly scope: ConfigScope
  /**
   * Path of the file, by system if it differs: `~` is the user's home and `{config}` the system's configuration folder;
   * other paths belong to the project
   */
  readonly file: string | Readonly<Record<System, string>>
  readonly language: ConfigLanguage
  /** Path of the object in the file */
  readonly servers: readonly string[]
  /** True if the client still reads the place but no longer writes it */
  readonly isOld?: true
  /** Environment variable that replaces the folder `~/.<name>` of the file */
  readonly folderVariable?: string
}

const place = (
  scope: ConfigScope,
  file: ConfigPlace['file'],
  servers: string,
  more: Partial<ConfigPlace> = {}
): ConfigPlace => ({ scope, file, language: 'json', servers: servers.split('.'), ...more })

const cline = 'saoudrizwan.claude-dev/settings/cline_mcp_settings.json'

/** The places of each client as its documentation names them; `connect --write` uses the first one. */
export const CLIENT_PLACES: Readonly<Record<FileClient, readonly ConfigPlace[]>> = {
  // https://code.claude.com/docs/en/mcp
  'claude-code': [
    place('project', '.mcp.json', 'mcpServers'),
    place('user', '~/.claude.json', 'mcpServers'),
    place('local', '~/.claude.json', `projects.${EVERY_MEMBER}.mcpServers`)
  ],
  // https://cursor.com/docs/context/mcp
  cursor: [place('user', '~/.cursor/mcp.json', 'mcpServers'), place('project', '.cursor/mcp.json', 'mcpServers')],
  // https://code.visualstudio.com/docs/copilot/customization/mcp-servers
  vscode: [
    place('project', '.vscode/mcp.json', 'servers'),
    place('user', '{config}/Code/User/mcp.json', 'servers'),
    place('user', '{config}/Code/User/settings.json', 'mcp.servers', { isOld: true }),
    place('project', '.vscode/settings.json', 'mcp.servers', { isOld: true })
  ],
  // https://developers.openai.com/codex/mcp
  codex: [
    place('user', '~/.codex/config.toml', 'mcp_servers', { language: 'toml', folderVariable: 'CODEX_HOME' }),
    place('project', '.codex/config.toml', 'mcp_servers', { language: 'toml' })
  ],
  // https://modelcontextprotocol.io/docs/develop/connect-local-servers
  'claude-desktop': [place('user', '{config}/Claude/claude_desktop_config.json', 'mcpServers')],
  // https://docs.windsurf.com/windsurf/cascade/mcp
  windsurf: [place('user', '~/.codeium/windsurf/mcp_config.json', 'mcpServers')],
  // https://geminicli.com/docs/tools/mcp-server
  'gemini-cli': [
    place('user', '~/.gemini/settings.json', 'mcpServers'),
    place('project', '.gemini/settings.json', 'mcpServers')
  ],
  // https://zed.dev/docs/ai/mcp and https://zed.dev/docs/configuring-zed
  zed: [
    place(
      'user',
      {
        linux: '{config}/zed/settings.json',
        darwin: '~/.config/zed/settings.json',
        win32: '{config}/Zed/settings.json'
      },
      'context_servers'
    )
  ],
  // https://docs.cline.bot/mcp/configuring-mcp-servers
  cline: [
    place('user', `{config}/Code/User/globalStorage/${cline}`, 'mcpServers'),
    place('user', '~/.cline/data/settings/cline_mcp_settings.json', 'mcpServers')
  ],
  // https://junie.jetbrains.com/docs/junie-cli-mcp-configuration.html
  junie: [place('user', '~/.junie/mcp/mcp.json', 'mcpServers'), place('project', '.junie/mcp/mcp.json', 'mcpServers')],
  // https://opencode.ai/docs/mcp-servers and https://opencode.ai/docs/config
  opencode: [
    place('user', '~/.config/opencode/opencode.json', 'mcp'),
    place('user', '~/.config/opencode/opencode.jsonc', 'mcp'),
    place('project', 'opencode.json', 'mcp'),
    place('project', 'opencode.jsonc', 'mcp')
  ],
  // https://block.github.io/goose/docs/guides/config-files
  goose: [
    place(
      'user',
      {
        linux: '~/.config/goose/config.yaml',
        darwin: '~/.config/goose/config.yaml',
        win32: '{config}/Block/goose/config/config.yaml'
      },
      'extensions',
      { language: 'yaml' }
    )
  ],
  // https://lmstudio.ai/docs/app/mcp
  'lm-studio': [place('user', '~/.lmstudio/mcp.json', 'mcpServers')]
}

export const isFileClient = (client: string): client is FileClient =>
  (FILE_CLIENTS as readonly string[]).includes(client)
