import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { causeGroups, causes } from '../../src/domain/failures/causes.ts'
import { findCause } from '../../src/domain/failures/explain.ts'
import { bestLine, lastLines } from '../../src/domain/failures/stderr-line.ts'
import { createRedactor } from '../../src/domain/secrets/redaction.ts'
import type { CapturedFailure } from '../fixtures/failures/capture.ts'

const folder = join(import.meta.dirname, '../fixtures/failures')
const tools = ['npx', 'uvx', 'node', 'python3', 'docker']
const captured = tools.flatMap((tool) =>
  (JSON.parse(readFileSync(join(folder, `${tool}.json`), 'utf8')) as CapturedFailure[]).map((each) => ({
    ...each,
    tool
  }))
)

/** Name of the captured failure, its cause, and the line of stderr that is shown. */
const expected: readonly (readonly [string, string, string])[] = [
  [
    'npx, no such package',
    'npm_package_not_found',
    'npm error 404 Not Found - GET https://registry.npmjs.org/@towpath-nope%2fdoes-not-exist-xyz'
  ],
  [
    'npx, no such version',
    'npm_version_not_found',
    'npm error notarget No matching version found for @modelcontextprotocol/server-everything@99.99.99.'
  ],
  ['npx, a package without a program', 'npm_no_program', 'npm error could not determine executable to run'],
  [
    'npx, registry refuses connections',
    'npm_registry_unreachable',
    'npm error FetchError: request to http://127.0.0.1:9/some-package failed, reason: connect ECONNREFUSED 127.0.0.1:9'
  ],
  [
    'npx, registry does not resolve',
    'npm_registry_unreachable',
    'npm error network request to http://registry.invalid/some-package failed, reason: getaddrinfo ENOTFOUND registry.invalid'
  ],
  ['npx, registry does not answer', 'npm_registry_unreachable', 'npm error network timeout at: {SILENT}/some-package'],
  [
    'npx, registry wants a login',
    'npm_registry_login',
    'npm error 401 Unauthorized - GET {UNAUTHORIZED}/some-package - authentication required'
  ],
  [
    'npx, registry forbids the package',
    'npm_registry_login',
    'npm error 403 403 Forbidden - GET {FORBIDDEN}/some-package - forbidden'
  ],
  [
    'npx, self-signed registry',
    'tls_untrusted',
    'npm error request to {SELF_SIGNED}/some-package failed, reason: self-signed certificate'
  ],
  ['npx, package needs a newer Node.js', 'node_version', 'npm error notsup Required: {"node":">=22.7.5"}'],
  [
    'npx, folder of another user',
    'permission_denied',
    'npm error Your cache folder contains root-owned files, due to a bug in previous versions of npm which has since been addressed.'
  ],
  ['npx, server without its key', 'missing_variable', 'Error: BRAVE_API_KEY environment variable is required'],
  ['npx, server without its arguments', 'missing_argument', 'Please provide a database URL as a command-line argument'],
  [
    'uvx, no such package',
    'python_package_not_found',
    'cause: Because towpath-does-not-exist-xyz was not found in the package registry and you require towpath-does-not-exist-xyz, we can conclude that your requirements are unsatisfiable.'
  ],
  [
    'uvx, no such version',
    'python_version_not_found',
    'cause: Because there is no version of mcp-server-time==99.99.99 and you require mcp-server-time==99.99.99, we can conclude that your requirements are unsatisfiable.'
  ],
  [
    'uvx, no such Python',
    'python_version',
    'error: No interpreter found for Python 3.99 in managed installations or search path'
  ],
  [
    'uvx, package needs a newer Python',
    'python_version',
    'cause: Because the current Python version (3.11.7) does not satisfy Python>=3.12 and sphinx==9.1.0 depends on Python>=3.12, we can conclude that sphinx==9.1.0 cannot be used.'
  ],
  ['uvx, package without a program', 'uvx_no_program', 'Package `idna` does not provide any executables.'],
  [
    'uvx, index refuses connections',
    'python_index_unreachable',
    'error: Failed to fetch: http://127.0.0.1:9/simple/some-package/'
  ],
  [
    'uvx, index does not resolve',
    'python_index_unreachable',
    'error: Failed to fetch: http://index.invalid/simple/some-package/'
  ],
  ['uvx, self-signed index', 'tls_untrusted', 'cause: invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))'],
  [
    'uvx, index wants a login',
    'python_index_login',
    'hint: An index URL ({UNAUTHORIZED}/simple) could not be queried due to a lack of valid authentication credentials (401 Unauthorized)'
  ],
  ['node, no such file', 'node_module_not_found', "Error: Cannot find module '/work/dist/index.js'"],
  [
    'node, package not installed (import)',
    'node_module_not_found',
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@modelcontextprotocol/sdk' imported from /work/server.mjs"
  ],
  [
    'node, package not installed (require)',
    'node_module_not_found',
    "Error: Cannot find module '@modelcontextprotocol/sdk'"
  ],
  [
    'node, import in a CommonJS file',
    'node_module_format',
    'SyntaxError: Cannot use import statement outside a module'
  ],
  ['node, syntax of a newer Node.js', 'node_version', "SyntaxError: Unexpected identifier 'file'"],
  ['node, TypeScript file', 'node_module_format', 'SyntaxError: Missing initializer in const declaration'],
  ['node, option of a newer Node.js', 'node_version', 'node: bad option: --experimental-strip-types'],
  ['node, missing variable', 'missing_variable', 'Error: API_KEY environment variable is required'],
  ['node, database refuses connections', 'dependency_refused', 'Error: connect ECONNREFUSED 127.0.0.1:9'],
  ['node, host does not resolve', 'dependency_not_found', '[cause]: Error: getaddrinfo ENOTFOUND api.invalid'],
  ['node, port in use', 'port_in_use', 'Error: listen EADDRINUSE: address already in use :::38061'],
  ['node, file of another user', 'permission_denied', "Error: EACCES: permission denied, open '/etc/shadow'"],
  [
    'node, rejected login with a last line that says nothing',
    'credentials_rejected',
    'FATAL: password authentication failed for user "app"'
  ],
  [
    'node, out of memory',
    'out_of_memory',
    'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'
  ],
  ['node, exits at once', 'exited_at_once', ''],
  ['python, no such module', 'python_module_not_found', '/usr/bin/python3: No module named mcp_server_does_not_exist'],
  [
    'python, no such file',
    'file_not_found',
    "/usr/bin/python3: can't open file '/work/server.py': [Errno 2] No such file or directory"
  ],
  ['python, package not installed', 'python_module_not_found', "ModuleNotFoundError: No module named 'towpath_nope'"],
  ['python, missing variable', 'missing_variable', "KeyError: 'API_KEY'"],
  [
    'python, newer library expected',
    'python_import_failed',
    "ImportError: cannot import name 'loads_fast' from 'json' (/usr/lib/python3.11/json/__init__.py)"
  ],
  [
    'python, syntax of another version',
    'python_version',
    "SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?"
  ],
  [
    'python, database refuses connections',
    'dependency_refused',
    'ConnectionRefusedError: [Errno 111] Connection refused'
  ],
  ['python, file of another user', 'permission_denied', "PermissionError: [Errno 13] Permission denied: '/etc/shadow'"],
  [
    'python, self-signed server',
    'tls_untrusted',
    'urllib.error.URLError: <urlopen error [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)>'
  ],
  ['python, exits at once', 'exited_at_once', ''],
  [
    'docker, no daemon',
    'docker_not_running',
    'docker: Cannot connect to the Docker daemon at unix:///var/run/towpath-no-docker.sock. Is the docker daemon running?'
  ],
  [
    'docker, remote daemon away',
    'docker_not_running',
    'docker: Cannot connect to the Docker daemon at tcp://127.0.0.1:9. Is the docker daemon running?'
  ],
  [
    'docker, socket of another user',
    'docker_permission',
    'docker: permission denied while trying to connect to the Docker daemon socket at unix://{SOCKET}: Head "http://%2Fwork%2Fdocker.sock/_ping": dial unix {SOCKET}: connect: permission denied'
  ],
  [
    'docker, no such image',
    'docker_image_not_found',
    "docker: Error response from daemon: pull access denied for mcp/does-not-exist-xyz, repository does not exist or may require 'docker login': denied: requested access to the resource is denied"
  ],
  ['docker, unknown option', 'missing_argument', 'unknown flag: --rmm']
]

for (const [name, cause, line] of expected) {
  test(`the failure "${name}" is explained by its best line and a next step`, () => {
    const failure = captured.find((each) => each.name === name)
    assert.ok(failure, 'captured')
    const stderr = failure.stderr.split('\n')
    assert.equal(bestLine(stderr), line)
    const code = failure.exitCode === 0 ? 'exit_0' : undefined
    const found = findCause({ reason: 'crashed', message: '', code, command: failure.tool, stderr })
    assert.equal(found?.id, cause)
    assert.match(found.nextStep, /^[A-Z].*\.$/)
  })
}

test('every captured failure has an expectation, and none shows the place of npm’s log', () => {
  assert.deepEqual(
    captured.map(({ name }) => name),
    expected.map(([name]) => name)
  )
  assert.ok(captured.length >= 25)
  for (const { stderr } of captured) assert.doesNotMatch(bestLine(stderr.split('\n')), /complete log/)
})

test('the shown line has no colours, control characters or secrets, and is bounded', () => {
  const redact = createRedactor(['hunter2-very-secret'])
  const line = bestLine(['\u001b[31mError: login with hunter2-very-secret failed\u001b[0m\u0007\u202e'], redact)
  assert.equal(line, 'Error: login with *** failed')
  assert.equal(bestLine([`Error: ${'x'.repeat(5_000)}`]).length, 201)
  assert.equal(bestLine(['', '   ']), '')
})

test('the last lines are bounded in number and length, and keep their indentation', () => {
  const lines = lastLines(['gone', ...Array.from({ length: 20 }, (_, at) => `  line ${at} ${'y'.repeat(500)}`), ''])
  assert.equal(lines.length, 20)
  assert.match(lines[0]!, /^ {2}line 0 y+…$/)
  assert.ok(lines.every((line) => line.length <= 201))
})

test('a line of stderr that says nothing is shown if there is no better one', () => {
  assert.equal(bestLine(['starting', 'bye']), 'bye')
  assert.equal(
    bestLine(['npm error code E500', 'npm error A complete log of this run can be found in: /x']).length > 0,
    true
  )
})

const http = (more: object) => findCause({ reason: 'bad_response', message: '', ...more })?.id

test('failures of HTTP servers are explained by status and error number', () => {
  assert.equal(http({ status: 404 }), 'wrong_path')
  assert.equal(http({ status: 405 }), 'wrong_method')
  assert.equal(http({ status: 405, code: 'sse' }), 'wrong_transport')
  assert.equal(http({ status: 200, code: 'html' }), 'html_answer')
  assert.equal(
    http({ reason: 'auth', status: 401, message: 'demands authentication (HTTP 401)' }),
    'credentials_missing'
  )
  assert.equal(http({ reason: 'auth', status: 401 }), 'token_rejected')
  assert.equal(http({ reason: 'auth', status: 403 }), 'access_forbidden')
  const lack = 'refused the request: the sign-in lacks the scopes "a b" (HTTP 403)'
  assert.equal(http({ reason: 'auth', message: lack }), 'scopes_missing')
  assert.equal(http({ reason: 'unreachable', code: 'ECONNREFUSED' }), 'connection_refused')
  assert.equal(http({ reason: 'unreachable', code: 'ENOTFOUND' }), 'host_not_found')
  assert.equal(http({ reason: 'unreachable', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), 'tls_untrusted')
  assert.equal(http({ reason: 'unreachable', code: 'CERT_HAS_EXPIRED' }), 'tls_expired')
  assert.equal(http({ reason: 'unreachable', code: 'ERR_TLS_CERT_ALTNAME_INVALID' }), 'tls_host_name')
  assert.equal(http({ reason: 'timeout' }), 'no_answer')
  assert.equal(http({ reason: 'auth', message: 'the authorization server: refused the code' }), undefined)
})

test('a command that is missing is explained by the program that provides it', () => {
  const missing = (command: string) => http({ reason: 'unreachable', message: `command "${command}" was not found` })
  assert.equal(missing('npx'), 'npx_not_found')
  assert.equal(missing('/opt/bin/uvx'), 'uvx_not_found')
  assert.equal(missing('docker'), 'docker_not_found')
  assert.equal(missing('python3.12'), 'python_not_found')
  assert.equal(missing('uvxx'), 'command_not_found')
})

test('a time-out of a package runner is a download, one of another program is not', () => {
  assert.equal(http({ reason: 'timeout', command: 'npx' }), 'start_timeout')
  assert.equal(http({ reason: 'timeout', command: 'server' }), 'no_answer_stdio')
})

test('each cause has its own id and stands in one group of the troubleshooting page', () => {
  const grouped = Object.values(causeGroups).flat()
  assert.equal(new Set(causes.map(({ id }) => id)).size, causes.length)
  assert.deepEqual(new Set(grouped), new Set(causes))
  for (const { summary, nextStep } of causes) assert.match(`${summary} ${nextStep}`, /^[A-Z].*\. [A-Z].*\.$/)
})
