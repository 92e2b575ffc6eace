import assert from 'node:assert/strict'
import test from 'node:test'
import { importServers } from '../../src/domain/import/formats.ts'

const base64 = (value: unknown) => encodeURIComponent(Buffer.from(JSON.stringify(value)).toString('base64'))
const github = { type: 'http', url: 'https://api.githubcopilot.com/mcp/' }

/** Texts and the registration that each one means. */
const cases: readonly (readonly [text: string, registration: object])[] = [
  [
    `API_KEY=secret npx -y some-mcp-server --flag "a b"`,
    {
      name: 'some',
      transport: 'stdio',
      command: 'npx',
      args: ['-y', 'some-mcp-server', '--flag', 'a b'],
      env: { API_KEY: 'secret' }
    }
  ],
  ['$ uvx mcp-server-time', { name: 'time', transport: 'stdio', command: 'uvx', args: ['mcp-server-time'] }],
  ['npx -y \\\n  pkg-a \\\n  --x', { name: 'pkg-a', transport: 'stdio', command: 'npx', args: ['-y', 'pkg-a', '--x'] }],
  ['https://mcp.linear.app/sse', { name: 'linear', transport: 'sse', url: 'https://mcp.linear.app/sse' }],
  [
    'claude mcp add --transport http sentry https://mcp.sentry.dev/mcp --header "Authorization: Bearer abc" -H "X-A: b"',
    {
      name: 'sentry',
      transport: 'streamable_http',
      url: 'https://mcp.sentry.dev/mcp',
      bearer_token: 'abc',
      headers: { 'X-A': 'b' }
    }
  ],
  [
    'claude mcp add -s user airtable --env AIRTABLE_API_KEY=$KEY -- npx -y airtable-mcp-server',
    {
      name: 'airtable',
      transport: 'stdio',
      command: 'npx',
      args: ['-y', 'airtable-mcp-server'],
      env: { AIRTABLE_API_KEY: '${KEY}' }
    }
  ],
  [
    `claude mcp add-json github '${JSON.stringify(github)}'`,
    { name: 'github', transport: 'streamable_http', url: github.url }
  ],
  [
    'codex mcp add docs --url https://docs.example/mcp --bearer-token-env-var DOCS_TOKEN',
    { name: 'docs', transport: 'streamable_http', url: 'https://docs.example/mcp', bearer_token: '${DOCS_TOKEN}' }
  ],
  [
    'codex mcp add context7 --env A=1 -- npx -y @upstash/context7-mcp',
    { name: 'context7', transport: 'stdio', command: 'npx', args: ['-y', '@upstash/context7-mcp'], env: { A: '1' } }
  ],
  [
    'gemini mcp add -t sse -H "X-Key: k" events https://events.example/stream',
    { name: 'events', transport: 'sse', url: 'https://events.example/stream', headers: { 'X-Key': 'k' } }
  ],
  [
    `code --add-mcp '{"name":"play","command":"npx","args":["@playwright/mcp@latest"]}'`,
    { name: 'play', transport: 'stdio', command: 'npx', args: ['@playwright/mcp@latest'] }
  ],
  [
    'docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server',
    {
      name: 'github',
      transport: 'stdio',
      command: 'docker',
      args: ['run', '-i', '--rm', '-e', 'GITHUB_TOKEN', 'ghcr.io/github/github-mcp-server'],
      env: { GITHUB_TOKEN: '${GITHUB_TOKEN}' }
    }
  ],
  [
    `cursor://anysphere.cursor-deeplink/mcp/install?name=files&config=${base64({ command: 'npx', args: ['files'] })}`,
    { name: 'files', transport: 'stdio', command: 'npx', args: ['files'] }
  ],
  [
    `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: 'gh', ...github }))}`,
    { name: 'gh', transport: 'streamable_http', url: github.url }
  ],
  [
    '{"context_servers":{"zed":{"command":"zed-mcp","args":[]}}}',
    { name: 'zed', transport: 'stdio', command: 'zed-mcp' }
  ],
  [
    '"single": {"url":"https://one.example/mcp"},',
    { name: 'single', transport: 'streamable_http', url: 'https://one.example/mcp' }
  ]
]

for (const [text, registration] of cases) {
  test(`a registration is read from ${text.slice(0, 60).replaceAll('\n', ' ')}`, () => {
    const { servers, problem } = importServers(text)
    assert.equal(problem, undefined)
    assert.equal(servers.length, 1)
    assert.deepEqual(servers[0]!.problems, [])
    assert.deepEqual(servers[0]!.registration, registration)
  })
}

test('features of a shell are problems, because the gateway has none', () => {
  for (const [text, feature] of [
    ['cd /srv && npx -y pkg-mcp', /& or &&/],
    ['npx -y pkg-mcp | tee log', /pipe/],
    ['npx -y pkg-mcp --key "$(cat key)"', /command substitution/],
    ['npx -y pkg-mcp > log', /redirection/],
    ['npx -y "pkg-mcp', /not closed/],
    ['npm install -g some-mcp', /installs/],
    ['docker run -it some/mcp', /terminal/]
  ] as const) {
    const { servers, problem } = importServers(text)
    assert.match([problem, ...servers.flatMap(({ problems }) => problems)].join(' '), feature, text)
  }
})

test('several commands are several servers, and prose is none', () => {
  const two = importServers('# first\nclaude mcp add a -- npx -y a\nclaude mcp add b -- npx -y b\n')
  assert.deepEqual(
    two.servers.map(({ name }) => name),
    ['a', 'b']
  )
  for (const text of ['hello world', '', 'cursor://other', 'x'.repeat(100_000), `claude mcp add-json x '{'`])
    assert.notEqual(importServers(text).problem, undefined, text.slice(0, 40))
})
