import { bestLine } from './stderr-line.ts'

/** Facts about a failed contact with a server. */
export interface FailureFacts {
  /** `FailureReason` of the failure; if it is not known, it is read from the message. */
  readonly reason?: string | undefined
  readonly message: string
  /** HTTP status of the server's answer, if there was one. */
  readonly status?: number | undefined
  /** Error number (`ECONNREFUSED`) or one of `exit_0`, `html` and `sse`. */
  readonly code?: string | undefined
  /** Name of the program, without folders; undefined for a server that is reached over HTTP. */
  readonly command?: string | undefined
  /** Lines of the program's stderr, oldest first. */
  readonly stderr?: readonly string[] | undefined
}

/** A known cause of failures. */
export interface Cause {
  /** Machine-readable name, part of the REST interface. */
  readonly id: string
  /** The failure, as a sentence. */
  readonly summary: string
  /** The next step of the reader, as a sentence. */
  readonly nextStep: string
  /** Recognises the cause in a line of stderr, or in all lines. */
  readonly stderr?: RegExp
  /** Recognises the cause in what the gateway saw. */
  readonly when?: (facts: FailureFacts) => boolean
}

const notFound = (command: RegExp) => (facts: FailureFacts) =>
  command.test(/^command "(?:.*\/)?([^"/]+)" was not found$/.exec(facts.message)?.[1] ?? '')
const hasCode = (code: RegExp) => (facts: FailureFacts) => code.test(facts.code ?? '')
const hasStatus =
  (...statuses: readonly number[]) =>
  ({ status }: FailureFacts) =>
    status !== undefined && statuses.includes(status)

const runners = /^(npx|npm|pnpm|pnpx|yarn|bunx|uvx|uv|pipx|docker|podman|deno)$/

const commands: readonly Cause[] = [
  {
    id: 'npx_not_found',
    summary: 'The gateway cannot find Node.js.',
    nextStep: 'Install Node.js where the gateway runs; in a container, use the image for stdio servers.',
    when: notFound(/^(npx|npm|node|pnpm|pnpx)$/)
  },
  {
    id: 'uvx_not_found',
    summary: 'The gateway cannot find uv, which provides uvx.',
    nextStep:
      'Install uv (https://docs.astral.sh/uv) where the gateway runs; in a container, use the image for stdio servers.',
    when: notFound(/^(uvx?|pipx)$/)
  },
  {
    id: 'docker_not_found',
    summary: 'The gateway cannot find the Docker command.',
    nextStep: 'Install the Docker client where the gateway runs, or run the server outside and register its URL.',
    when: notFound(/^(docker|podman)$/)
  },
  {
    id: 'python_not_found',
    summary: 'The gateway cannot find Python.',
    nextStep:
      'Install Python where the gateway runs, or give the full path of the interpreter; many systems only have `python3`.',
    when: notFound(/^(python[\d.]*|pip[\d.]*)$/)
  },
  {
    id: 'command_not_found',
    summary: 'The command does not exist where the gateway runs.',
    nextStep: 'Check the spelling, give the full path, and put arguments into the arguments instead of the command.',
    when: notFound(/./)
  },
  {
    id: 'not_executable',
    summary: 'The command is a file that cannot be executed.',
    nextStep: 'Make it executable (`chmod +x`), or start it with its interpreter, such as `node` or `python3`.',
    when: ({ message }) => /^command ".*" is (not executable|a directory)$/.test(message)
  }
]

const npm: readonly Cause[] = [
  {
    id: 'npm_package_not_found',
    summary: 'The npm registry has no such package.',
    nextStep: 'Check the name of the package; a private package needs a login in `~/.npmrc` of the gateway.',
    stderr: /^npm (error|ERR!) (code E404|404 Not Found)/
  },
  {
    id: 'npm_version_not_found',
    summary: 'The npm package has no such version.',
    nextStep:
      'Remove the version behind the name of the package, or choose one that `npm view <package> versions` lists.',
    stderr: /^npm (error|ERR!) (code ETARGET|notarget )/
  },
  {
    id: 'npm_no_program',
    summary: 'The npm package has no program to run.',
    nextStep:
      'Check that the package is an MCP server and not a library; `npx -y -p <package> <program>` names the program.',
    stderr: /^npm (error|ERR!) could not determine executable/
  },
  {
    id: 'npm_registry_login',
    summary: 'The npm registry refuses access to the package.',
    nextStep: 'Add a valid login for the registry to `~/.npmrc` of the user that runs the gateway.',
    stderr: /^npm (error|ERR!) (code E40[13]|40[13] )/
  },
  {
    id: 'node_version',
    summary: 'The server needs another version of Node.js.',
    nextStep:
      'Install the version that the server requires (`node --version` shows the present one), or use an older server.',
    stderr:
      /EBADENGINE|notsup Required|engine Not compatible|^node: bad option|SyntaxError: (Unexpected (token|identifier|reserved)|Invalid regular expression flags)|is not a function or its return value is not iterable/
  }
]

const tls: readonly Cause[] = [
  {
    id: 'tls_expired',
    summary: 'The TLS certificate has expired.',
    nextStep: 'Renew the certificate of the server, and check the clock of this machine.',
    stderr: /certificate has expired|CERT_HAS_EXPIRED|invalid peer certificate: Expired/,
    when: hasCode(/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/)
  },
  {
    id: 'tls_host_name',
    summary: 'The TLS certificate is for another host name.',
    nextStep: 'Use a host name that the certificate contains.',
    stderr: /ERR_TLS_CERT_ALTNAME_INVALID|hostname mismatch|does not match certificate|NotValidForName/i,
    when: hasCode(/^ERR_TLS_CERT_ALTNAME_INVALID$/)
  },
  {
    id: 'tls_untrusted',
    summary: 'The TLS certificate is self-signed, or its authority is unknown here.',
    nextStep:
      'Start the gateway with `NODE_EXTRA_CA_CERTS=<file>` that contains the authority; for a stdio server, set `NODE_EXTRA_CA_CERTS` or `SSL_CERT_FILE` in its variables.',
    stderr:
      /self[- ]signed certificate|SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)|invalid peer certificate|CERTIFICATE_VERIFY_FAILED|certificate signed by unknown authority/i,
    when: hasCode(/SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET_ISSUER)/)
  },
  {
    id: 'tls_failed',
    summary: 'No TLS connection can be made.',
    nextStep: 'Check that the port speaks https; use http:// in the URL if it does not.',
    stderr: /ERR_SSL_|wrong version number/i,
    when: hasCode(/^(ERR_SSL_|EPROTO$)/)
  }
]

const registries: readonly Cause[] = [
  {
    id: 'npm_registry_unreachable',
    summary: 'The npm registry cannot be reached.',
    nextStep:
      'Check the network and proxy of the gateway, and set `HTTPS_PROXY` or `npm_config_registry` in the variables of the server.',
    stderr:
      /^npm (error|ERR!) (network |FetchError|code (ECONN|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|FETCH_ERROR)|request to .* failed)/
  },
  {
    id: 'python_index_login',
    summary: 'The Python package index refuses access.',
    nextStep:
      'Give the index a user name and a password, in its URL or with `UV_INDEX_<NAME>_USERNAME` and `_PASSWORD`.',
    stderr: /An index URL .* could not be queried due to a lack of valid authentication/
  },
  {
    id: 'python_version_not_found',
    summary: 'The Python package has no such version.',
    nextStep: 'Remove the version behind the name of the package, or choose one that https://pypi.org lists.',
    stderr: /Because there is no version of |No matching distribution found for \S+==/
  },
  {
    id: 'python_package_not_found',
    summary: 'The Python package index has no such package.',
    nextStep:
      'Check the name of the package; `uvx --from <package> <program>` is needed if the program has another name.',
    stderr: /was not found in the package registry|No matching distribution found/
  },
  {
    id: 'python_version',
    summary: 'The server needs another version of Python.',
    nextStep: 'Add `--python <version>` to the arguments of uvx, or install the version that the server requires.',
    stderr:
      /No interpreter found for Python|does not satisfy Python|requires a different Python|depends on Python|SyntaxError: (invalid syntax|Missing parentheses)/
  },
  {
    id: 'uvx_no_program',
    summary: 'The Python package has no program of that name.',
    nextStep: 'Use `uvx --from <package> <program>` with a program that the package provides.',
    stderr: /is not provided by package|No executables are provided by|does not provide any executables/
  },
  {
    id: 'python_index_unreachable',
    summary: 'The Python package index cannot be reached.',
    nextStep:
      'Check the network and proxy of the gateway, and set `HTTPS_PROXY` or `UV_DEFAULT_INDEX` in the variables of the server.',
    stderr: /^(error: |× )?Failed to fetch|Failed to download/
  }
]

const programs: readonly Cause[] = [
  {
    id: 'docker_permission',
    summary: 'The gateway may not use the Docker daemon.',
    nextStep: 'Add the user that runs the gateway to the group `docker`, or use rootless Docker.',
    stderr: /permission denied while trying to connect to the [Dd]ocker/
  },
  {
    id: 'docker_not_running',
    summary: 'The Docker daemon does not run, or cannot be reached.',
    nextStep:
      'Start Docker; if the gateway runs in a container, mount the socket or set `DOCKER_HOST` in the variables of the server.',
    stderr: /Cannot connect to the Docker daemon|error during connect|docker daemon is not running/
  },
  {
    id: 'docker_image_not_found',
    summary: 'The Docker image does not exist, or needs a login.',
    nextStep: 'Check the name and the tag of the image; run `docker login` for a private one.',
    stderr: /pull access denied|manifest unknown|manifest for .* not found|repository does not exist|No such image/
  },
  {
    id: 'node_module_format',
    summary: 'Node.js cannot load this kind of file.',
    nextStep:
      'Build the server first and start the built JavaScript file; TypeScript needs `npx tsx <file>`, and `import` needs a .mjs file or `"type": "module"`.',
    stderr:
      /Cannot use import statement outside a module|ERR_REQUIRE_ESM|ERR_UNKNOWN_FILE_EXTENSION|Missing initializer in const declaration/
  },
  {
    id: 'node_module_not_found',
    summary: 'Node.js cannot find a file or package of the server.',
    nextStep: 'Give the full path of the script, run `npm install` in the folder of the server, and build it.',
    stderr: /Cannot find (module|package) |ERR_MODULE_NOT_FOUND/
  },
  {
    id: 'python_module_not_found',
    summary: 'Python cannot find a package of the server.',
    nextStep:
      'Install the package for this interpreter, give the full path of the interpreter in its virtual environment, or use uvx.',
    stderr: /ModuleNotFoundError|No module named/
  },
  {
    id: 'python_import_failed',
    summary: 'An installed Python package does not have what the server imports.',
    nextStep: 'Upgrade the packages of the server; with uvx, add `--refresh` once.',
    stderr: /ImportError: /
  },
  {
    id: 'missing_variable',
    summary: 'The server needs a variable that is not set.',
    nextStep:
      'Add the variable named in the message to the variables (`env`) of the server; the environment of the gateway is not passed on.',
    stderr:
      /environment variables?\b|KeyError: '[A-Z][A-Z0-9_]+'|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b.*\b(required|not set|missing|undefined|must be)\b|\b(missing|set|provide)\b.*\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/
  },
  {
    id: 'missing_argument',
    summary: 'The server was started with the wrong arguments.',
    nextStep: 'Read the usage in its documentation, and add each argument as its own line.',
    stderr:
      /command[- ]line argument|^usage: |unknown (flag|option)|unrecognized arguments|the following arguments are required|missing required argument/i
  },
  {
    id: 'credentials_rejected',
    summary: 'Another service rejects the credentials of the server.',
    nextStep: 'Check the key, user and password in the variables of the server.',
    stderr: /authentication failed|invalid (api[ _-]?key|token|credentials)|\b401\b|unauthorized|bad credentials/i
  },
  {
    id: 'out_of_memory',
    summary: 'The process ran out of memory.',
    nextStep: 'Give the container more memory, or raise `--max-old-space-size` in `NODE_OPTIONS` of the server.',
    stderr: /heap out of memory|MemoryError|Cannot allocate memory/
  },
  {
    id: 'port_in_use',
    summary: 'The server wants to listen on a port that is taken.',
    nextStep:
      'Start the server in its stdio mode, or choose another port; a server with a port is registered by its URL.',
    stderr: /EADDRINUSE|[Aa]ddress already in use/
  },
  {
    id: 'dependency_refused',
    summary: 'The server runs, but another service refuses its connection.',
    nextStep:
      'Start that service, and check host and port in the variables of the server; in a container, `localhost` is the container.',
    stderr: /ECONNREFUSED|[Cc]onnection refused/
  },
  {
    id: 'dependency_not_found',
    summary: 'The server runs, but a host name that it uses does not resolve.',
    nextStep: 'Check the host name in the variables of the server, and the network of the gateway.',
    stderr: /ENOTFOUND|EAI_AGAIN|Name or service not known|failed to lookup|[Nn]o such host/
  },
  {
    id: 'permission_denied',
    summary: 'The server may not read or write a file.',
    nextStep:
      'Give the user that runs the server access to the file in the message; for npx and uvx, a writable `HOME`.',
    stderr: /EACCES|EPERM|PermissionError|[Pp]ermission denied|cache folder contains root-owned files/
  },
  {
    id: 'file_not_found',
    summary: 'The server cannot find a file.',
    nextStep: 'Give the full path: servers start in a folder of their own, and `~` is not expanded.',
    stderr: /can't open file|ENOENT|[Nn]o such file or directory/
  },
  {
    id: 'exited_at_once',
    summary: 'The program ended without an error, before it answered.',
    nextStep: 'Check that the command starts an MCP server over stdio; some need an argument such as `stdio` or `mcp`.',
    when: hasCode(/^exit_0$/)
  },
  {
    id: 'start_timeout',
    summary: 'The server was still being downloaded or started.',
    nextStep: 'Try again: the download continues where it was. Raise `TOWPATH_CONNECT_TIMEOUT_MS` for slow starts.',
    when: ({ reason, command }) => reason === 'timeout' && runners.test(command ?? '')
  },
  {
    id: 'no_answer_stdio',
    summary: 'The program runs but does not answer.',
    nextStep: 'Check that it is an MCP server and that it is started in its stdio mode.',
    when: ({ reason, command }) => reason === 'timeout' && command !== undefined
  }
]

const network: readonly Cause[] = [
  {
    id: 'wrong_transport',
    summary: 'The server speaks the older transport, HTTP+SSE.',
    nextStep: 'Register it with the transport `sse`.',
    when: hasCode(/^sse$/)
  },
  {
    id: 'html_answer',
    summary: 'A web page answered instead of an MCP server.',
    nextStep: 'Use the URL of the MCP endpoint, which often ends in /mcp or /sse, instead of the web site.',
    when: hasCode(/^html$/)
  },
  {
    id: 'credentials_missing',
    summary: 'The server demands a login.',
    nextStep: 'Give a bearer token or an `Authorization` header, or sign in with OAuth.',
    when: ({ reason, status, message }) => reason === 'auth' && status === 401 && message.startsWith('demands')
  },
  {
    id: 'token_rejected',
    summary: 'The server rejects the credentials.',
    nextStep: 'Replace the token or header by a valid one; check that it belongs to this server.',
    when: ({ reason, status }) => reason === 'auth' && status !== 403
  },
  {
    id: 'access_forbidden',
    summary: 'The server refuses access.',
    nextStep: 'Check what the token permits, and if the server only accepts certain addresses or hosts.',
    when: hasStatus(403)
  },
  {
    id: 'wrong_path',
    summary: 'There is nothing at this path of the URL.',
    nextStep: 'Check the path: most servers answer at /mcp, and older ones at /sse.',
    when: hasStatus(404, 410)
  },
  {
    id: 'wrong_method',
    summary: 'The URL does not accept this transport.',
    nextStep: 'Try the other transport, `streamable_http` or `sse`, and check the path of the URL.',
    when: hasStatus(405, 406, 415, 400)
  },
  {
    id: 'redirected',
    summary: 'The URL leads to another one.',
    nextStep: 'Register the other URL; often only the slash at the end, or https, is missing.',
    when: hasStatus(301, 302, 303, 307, 308)
  },
  {
    id: 'rate_limited',
    summary: 'The server limits the number of requests.',
    nextStep: 'Wait a minute and try again.',
    when: hasStatus(429)
  },
  {
    id: 'server_error',
    summary: 'The server, or a proxy before it, has a problem of its own.',
    nextStep: 'Read the log of the server; behind a proxy, check that the server runs.',
    when: hasStatus(500, 501, 502, 503, 504)
  },
  {
    id: 'connection_refused',
    summary: 'Nothing listens at the host and port of the URL.',
    nextStep:
      'Start the server and check the port; if the gateway runs in a container, `localhost` is the container: use the name of the host.',
    when: hasCode(/^ECONNREFUSED$/)
  },
  {
    id: 'host_not_found',
    summary: 'The host name of the URL does not resolve.',
    nextStep: 'Check the spelling of the host, and that the gateway can resolve it.',
    when: hasCode(/^(ENOTFOUND|EAI_AGAIN)$/)
  },
  {
    id: 'host_unreachable',
    summary: 'The host of the URL cannot be reached.',
    nextStep: 'Check the network, firewall and VPN between the gateway and the host.',
    when: hasCode(/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/)
  },
  {
    id: 'connection_lost',
    summary: 'The server closed the connection instead of answering.',
    nextStep: 'Check http or https, the port, and the log of the server.',
    when: hasCode(/^(ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_\w+)$/)
  },
  {
    id: 'no_answer',
    summary: 'The server does not answer in time.',
    nextStep:
      'Check that the URL is an MCP endpoint and that the server is not overloaded; `TOWPATH_CONNECT_TIMEOUT_MS` sets the limit.',
    when: ({ reason }) => reason === 'timeout'
  }
]

/** All known causes in the order in which they are looked for. */
export const causes: readonly Cause[] = [...commands, ...npm, ...tls, ...registries, ...programs, ...network]

/** Groups of the page docs/how-to/troubleshooting.md. */
export const causeGroups: Readonly<Record<string, readonly Cause[]>> = {
  'The command': commands,
  'Packages of npm': npm,
  'Downloads and Python': registries,
  'TLS certificates': tls,
  'The program itself': programs,
  'Servers with a URL': network
}

/** Characters of a line that are looked at. */
const MAX_READ = 1_000
const mayQuoteStderr = new Set(['crashed', 'timeout', 'bad_response'])

const reasonTexts: readonly (readonly [RegExp, string])[] = [
  [/^the process (exited|was ended|closed)/, 'crashed'],
  [/\bin time$|timed out/, 'timeout'],
  [/\(HTTP 40[13]\)$/, 'auth']
]
const codeTexts: readonly (readonly [RegExp, string])[] = [
  [/^connection refused$/, 'ECONNREFUSED'],
  [/^host name does not resolve$/, 'ENOTFOUND'],
  [/exited with code 0$/, 'exit_0'],
  [/answers over HTTP\+SSE/, 'sse']
]
const matching = (texts: readonly (readonly [RegExp, string])[], message: string) =>
  texts.find(([pattern]) => pattern.test(message))?.[1]

/** Reads what is not given from the message: stored failures keep nothing else. */
function completeFacts(facts: FailureFacts): FailureFacts {
  const { message, status, reason, code } = facts
  const told = /\bHTTP (\d{3})\b/.exec(message)?.[1]
  return {
    ...facts,
    reason: reason ?? matching(reasonTexts, message),
    status: status ?? (told === undefined ? undefined : Number(told)),
    code: code ?? /^no connection \((\w+)\)$/.exec(message)?.[1] ?? matching(codeTexts, message)
  }
}

/**
 * Returns the known cause of a failure. The most telling line of stderr is looked up first, then all its lines, then
 * what the gateway saw itself.
 */
export function findCause(given: FailureFacts): Cause | undefined {
  // the sign-in has its own messages, which say what to do
  if (given.message.startsWith('the authorization server')) return undefined
  const facts = completeFacts(given)
  const { reason = '', stderr = [], command } = facts
  const isProgram = command !== undefined || stderr.length > 0
  const byLine = (lines: readonly string[]) =>
    causes.find((cause) => cause.stderr && lines.some((line) => cause.stderr!.test(line.slice(0, MAX_READ).trim())))
  if (isProgram && mayQuoteStderr.has(reason)) {
    const found = byLine([bestLine(stderr)]) ?? byLine(stderr)
    if (found) return found
  }
  return causes.find((cause) => cause.when?.(facts))
}

/** Members of an error body that explain a failure. */
export interface Explanation {
  readonly cause: string
  readonly summary: string
  readonly next_step: string
}

/** Returns the explanation of a failure for people; undefined if its cause is not known. */
export function explain(facts: FailureFacts): Explanation | undefined {
  const cause = findCause(facts)
  return cause && { cause: cause.id, summary: cause.summary, next_step: cause.nextStep }
}
