import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { CommandLine } from './cli.ts'

export type Mode = 'development' | 'enterprise'

/** Exit code, or, if that is 0, the shape of `-o json` output: see shapeOf. */
type Outcome = number | string

interface More {
  readonly input?: string
  /** True for administrators only: the role user gets exit code 4. */
  readonly isAdmins?: true
  /** True if the command needs no gateway. */
  readonly isLocal?: true
}

interface Line extends More {
  /** Command path in the tree. */
  readonly command: string
  /** Placeholders `URL` and `URI`: the server and its resource; `SKILLS` and `SKILL`: a server of skills and a skill; `TOKEN`: the administrator's token. */
  readonly args: readonly string[]
  readonly development: Outcome
  readonly enterprise: Outcome
}

const line = (command: string, args: string, outcome: Outcome | readonly [Outcome, Outcome], more: More = {}): Line => {
  const [development, enterprise] = typeof outcome === 'object' ? outcome : [outcome, outcome]
  return { command, args: args.split(' ').filter((arg) => arg !== ''), development, enterprise, ...more }
}

/** Returns the member names in order; for a list those of its first item. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length > 0 ? shapeOf(value[0]) : ''}]`
  if (value === null || typeof value !== 'object') return typeof value
  return `{${Object.keys(value).toSorted().join(' ')}}`
}

const admins = { isAdmins: true } as const
const local = { isLocal: true } as const

const server = '{enabled name session_mode transport url}'
/** Repeats the server's members at the top level, for MCPJungle's command line. */
const registered = '{enabled name server session_mode transport url}'
const tool = '{description enabled input_schema name}'
const prompt = '{arguments description enabled name}'
const resource = '{enabled mime_type name uri}'
const skill = '{description enabled frontmatter name resources uri}'
const group = 'excluded_tools included_servers included_tools missing name'
const endpoints = 'sse_endpoint sse_message_endpoint streamable_http_endpoint'
const reread = '{added changed name removed}'
const policy = '{effect enabled mode name subjects targets}'
const team = '{groups members name}'
const switched = '{name prompts_affected tools_affected}'

/** One line per command, in an order in which they can run. */
export const LINES: readonly Line[] = [
  line('init-server', '', [5, '{config status}']),
  line('login', '--token-stdin', [4, '{name role username}'], { input: 'TOKEN' }),
  line('status', '', [
    '{initialized mode prompts ready registry resources servers tool_groups tools version}',
    '{clients initialized mode name prompts ready registry resources role servers tool_groups tools users version}'
  ]),
  line('doctor', '', '{checks registry}'),
  line('version', '', '{gateway towpath}', local),
  line('register', 'alpha --url URL', registered, admins),
  line('list servers', '', '[{enabled health name session_mode transport url}]'),
  line('list tools', '--server alpha', `[${tool}]`),
  line('list prompts', '', `[${prompt}]`),
  line('list resources', '', `[${resource}]`),
  line('register', 'guide --url SKILLS', registered, admins),
  line('list skills', '', `[${skill}]`),
  line('get skill', 'SKILL', skill),
  line('get skill', 'SKILL --read', '{contents}'),
  line('disable skill', 'SKILL', '[string]', admins),
  line('enable skill', 'SKILL', '[string]', admins),
  line('delete server', 'guide', '', admins),
  line('describe server', 'alpha', '{failed_calls server tools}'),
  line('describe tool', 'alpha__echo', tool),
  line('get server', 'alpha', server),
  line('get tool', 'alpha__echo', tool),
  line('get prompt', 'alpha__greet', prompt),
  line('get resource', 'URI', resource),
  line('usage', 'alpha__echo', tool),
  line('invoke', 'alpha__echo', '{content}'),
  line('invoke', 'alpha__fail', 7),
  line('render', 'alpha__greet --arg who=all', '{messages}'),
  line('read', 'URI', '{contents}'),
  line('refresh', 'alpha', reread, admins),
  line('test', 'alpha', reread, admins),
  line('record', 'alpha --stop', server, admins),
  line('update server', '-c server.json', server, admins),
  line('disable resource', 'URI', '[string]', admins),
  line('disable prompt', 'alpha__greet', '[string]', admins),
  line('disable tool', 'alpha__echo', '[string]', admins),
  line('disable server', 'alpha', switched, admins),
  line('enable server', 'alpha', switched, admins),
  line('enable tool', 'alpha__echo', '[string]', admins),
  line('enable prompt', 'alpha__greet', '[string]', admins),
  line('enable resource', 'URI', '[string]', admins),
  line('create group', 'some --include-server alpha', `{${group} ${endpoints}}`, admins),
  line('update group', 'some --description new', `{description ${group} new old ${endpoints}}`, admins),
  line('list groups', '', `[{description ${group}}]`, admins),
  line('get group', 'some', `{description ${group} ${endpoints}}`, admins),
  line('create mcp-client', 'ci --allow alpha', [4, '{access_token allow_list allowed_servers name}'], admins),
  line('update mcp-client', 'ci --allow *', [4, '{allow_list allowed_servers name}'], admins),
  line('list mcp-clients', '', [4, '[{allow_list allowed_servers name}]'], admins),
  line('get mcp-client', 'ci', [4, '{allow_list allowed_servers name}'], admins),
  line('policy create', '-c policy.json', policy, admins),
  line('policy update', '-c policy.json', policy, admins),
  line('policy list', '', `[${policy}]`, admins),
  line('policy get', 'no-delete', policy, admins),
  line('policy validate', '-c policy.json', '{problems valid}', admins),
  line('policy why', 'ci alpha__echo --client', [3, '{decision default matched}'], admins),
  line('policy test', 'cases.json', [1, '{cases failed passed}'], admins),
  line(
    'policy replay',
    '--without no-delete',
    '{allowed approve callers_gone calls changes changes_cut complete confirm denied from to unknown}',
    admins
  ),
  line('policy delete', 'no-delete', '', admins),
  line('approvals', '', '[]'),
  line('approve', 'none', 3),
  line('deny', 'none', 3),
  line('definitions list', '--server alpha', '{items}', admins),
  line('definitions lock', '', '{servers}', admins),
  line('definitions diff', 'alpha__none', 3, admins),
  line('definitions accept', '--server alpha', '{decided skipped}', admins),
  line('definitions policy', 'alpha', '{policy server}'),
  line('definitions reject', 'alpha__none', 3, admins),
  line('team create', 'core --group sre', [4, team], admins),
  line('team update', 'core -c team.json', [4, team], admins),
  line('team list', '', [4, `[${team}]`], admins),
  line('team get', 'core', [4, team], admins),
  line('team delete', 'core', [4, ''], admins),
  line('create user', 'dev', [4, '{access_token name role username}'], admins),
  line('update user', 'dev', [4, '{access_token name role username}'], admins),
  line('list users', '', [4, '[{name role username}]'], admins),
  line('get user', 'dev', [4, '{groups name role role_reason source teams username}'], admins),
  line('update user', 'dev --role auditor', [4, '{name role username}'], admins),
  line('suspend', 'dev', [4, '{name role suspended username}'], admins),
  line('resume', 'dev', [4, '{name role username}'], admins),
  // people do not sign in to this gateway
  line('invite user', 'dev', [4, 5], admins),
  line('whoami', '', [4, '{name role token}']),
  line('token create', 'ci --scopes towpath:read --expires 1d', [
    4,
    '{access_token created_at current expires_at id kind name scopes}'
  ]),
  line('token list', '--user dev', [4, '[{created_at current id kind}]'], admins),
  line('token revoke', 'ci', [4, '']),
  line('oauth-client list', '', [4, '[]']),
  line('oauth-client disconnect', 'none', [4, 3]),
  line('oauth-client registered', '', [4, '[]'], admins),
  line('oauth-client grants', '', [4, '{grants}'], admins),
  line('oauth-client approve', 'none', [4, 3], admins),
  line('oauth-client remove', 'none', [4, 3], admins),
  line('sign-out', 'dev', [4, ''], admins),
  line('logs', '', '{calls}'),
  line('top', '', '{bucket_s buckets from in_flight range servers slowest_tools strip_from top_tools total}', admins),
  line('audit', '--limit 5', '{entries next_before}', admins),
  line('keys rotate', '', '{key_id remaining rewrapped unreadable}', admins),
  // no tokens are signed by this gateway
  line('keys rotate-signing', '', [4, 5], admins),
  line('validate', 'server.json', '[{file name type}]', local),
  line('import', 'mcp.json', '[{ignored name notes outcome problems target transport variables}]', admins),
  line('setup', '--dry-run --client cursor', '{dry_run files gateway servers tokens}', admins),
  line('search', 'memory', '{servers source total}', admins),
  line(
    'install',
    'memory --dry-run',
    '{digest env headers missing option preview problems server_name transport}',
    admins
  ),
  line('connect', 'cursor', '{client endpoint snippets}'),
  line('export', '-d files', '{files variables}', admins),
  line('apply', '-f server.json', '{changes dry_run unchanged}', admins),
  line('service install', '--dry-run', '{definition file}', local),
  line('service status', '', 3, local),
  line('service logs', '', 3, local),
  line('service uninstall', '', 3, local),
  line('completion', 'bash', 'text', local),
  line('__complete', 'zsh -- get server al', 'text', local),
  line('delete group', 'some', '', admins),
  line('delete mcp-client', 'ci', [4, ''], admins),
  line('delete user', 'dev', [4, ''], admins),
  line('deregister', 'beta', '', admins),
  line('delete server', 'alpha', '', admins),
  line('logout', '', '', local)
]

/** Commands tested as a separate process, with the test file. */
export const PROCESSES: Readonly<Record<string, string>> = {
  start: 'harness.ts',
  stdio: 'stdio-bridge.ts',
  migrate: 'migrate.test.ts'
}

export interface Scene {
  readonly cli: CommandLine
  readonly mode: Mode
  readonly registry: string
  /** URL of a server that can be registered. */
  readonly url: string
  /** URL of a server with the skill `refunds`. */
  readonly skillsUrl: string
}

async function writeFiles({ cli: { home }, url }: Scene): Promise<void> {
  const alpha = { name: 'alpha', transport: 'streamable_http', url }
  await writeFile(join(home, 'server.json'), JSON.stringify(alpha))
  const policyFile = { name: 'no-delete', effect: 'deny', targets: { tools: ['delete_*'] } }
  await writeFile(join(home, 'policy.json'), JSON.stringify(policyFile))
  const cases = [{ client: 'ci', item: 'alpha__echo', expect: 'allow' }]
  await writeFile(join(home, 'cases.json'), JSON.stringify(cases))
  await writeFile(join(home, 'team.json'), JSON.stringify({ groups: ['dev'] }))
  await writeFile(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { beta: { url } } }))
}

async function keptToken({ home }: CommandLine): Promise<string> {
  const text = await readFile(join(home, '.towpath.conf'), 'utf8').catch(() => '{}')
  return (parse(text) as { access_token?: string }).access_token ?? 'x'.repeat(20)
}

/** Returns the value of a placeholder in a line. */
async function argumentFor({ cli, registry, url, skillsUrl }: Scene, word: string): Promise<string> {
  if (word === 'URL') return url
  if (word === 'SKILLS') return skillsUrl
  if (word === 'SKILL') return 'skill://guide/refunds/SKILL.md'
  if (word === 'TOKEN') return keptToken(cli)
  if (word !== 'URI') return /\.json$|^files$/.test(word) ? join(cli.home, word) : word
  const listed = await cli(['list', 'resources', '--server', 'alpha', '-o', 'name', '--registry', registry])
  return listed.out.trim()
}

/** Inserts the global options before `--`. */
function withGlobals(words: readonly string[], registry: string): string[] {
  const end = words.indexOf('--')
  const at = end < 0 ? words.length : end
  return [...words.slice(0, at), '--registry', registry, '-o', 'json', '--yes', ...words.slice(at)]
}

const shapeOfText = (text: string) => (text === '' ? '' : /^[[{]/.test(text) ? shapeOf(JSON.parse(text)) : 'text')

/**
 * Runs every line with `-o json`: without a gateway, as a user, and as an administrator or in development mode. Returns
 * the administrator's token.
 */
export async function runLines(scene: Scene): Promise<string> {
  const { cli, mode, registry } = scene
  await writeFiles(scene)
  let adminToken = ''
  let userToken: string | undefined
  for (const { command, args, input, isAdmins, isLocal, ...outcomes } of LINES) {
    const words = [...command.split(' '), ...(await Promise.all(args.map((word) => argumentFor(scene, word))))]
    const spelled = `towpath ${words.join(' ')}`
    const options = input === undefined ? {} : { input: await argumentFor(scene, input) }
    if (!isLocal) {
      const { code, out } = await cli(withGlobals(words, 'http://127.0.0.1:9'), options)
      assert.equal(code, 6, `${spelled}: without a gateway`)
      if (command !== 'doctor') assert.equal(out, '', spelled)
    }
    if (isAdmins && mode === 'enterprise') {
      userToken ??= (await cli(withGlobals(['create', 'user', 'reader'], registry))).json.access_token as string
      const { code } = await cli(withGlobals(words, registry), { ...options, env: { TOWPATH_TOKEN: userToken } })
      assert.equal(code, 4, `${spelled}: by a user`)
    }
    const { code, out, err } = await cli(withGlobals(words, registry), options)
    const outcome = outcomes[mode]
    assert.equal(code, typeof outcome === 'number' ? outcome : 0, `${spelled}: ${err}`)
    if (typeof outcome === 'string') assert.equal(shapeOfText(out), outcome, spelled)
    if (command === 'login') adminToken = await keptToken(cli)
  }
  return adminToken
}
