import { hasCode, type Cause, type FailureFacts } from './cause.ts'

const notFound = (command: RegExp) => (facts: FailureFacts) =>
  command.test(/^command "(?:.*\/)?([^"/]+)" was not found$/.exec(facts.message)?.[1] ?? '')

const runners = /^(npx|npm|pnpm|pnpx|yarn|bunx|uvx|uv|pipx|docker|podman|deno)$/

/** The command cannot be started. */
export const commands: readonly Cause[] = [
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

/** npm refuses the package, or Node.js is the wrong one. */
export const npm: readonly Cause[] = [
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

/** A package cannot be downloaded, or Python is the wrong one. */
export const registries: readonly Cause[] = [
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

/** The program was started and fails. */
export const programs: readonly Cause[] = [
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
