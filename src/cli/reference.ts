import type { Command } from 'commander'
import { createProgram } from './program.ts'
import type { Runner } from './io/runner.ts'

const noopRunner: Runner = () => async () => {}
const noopIo = { env: {}, readFile: () => '', out: () => {}, error: () => {}, onExit: () => {} }

/** Returns the command tree for documentation and completion; its commands do nothing. */
export const createInertProgram = (): Command => createProgram(noopRunner, noopIo)

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
const code = (text: string) => `\`${text.replaceAll('|', '\\|')}\``

function optionsOf(command: Command): string {
  const options = command.options.filter(({ hidden }) => !hidden)
  if (options.length === 0) return ''
  const rows = options.map(({ flags, description }) => `| ${code(flags)} | ${cell(description)} |`)
  return `\n<!-- prettier-ignore -->\n| Option | |\n|---|---|\n${rows.join('\n')}\n`
}

function pathOf(command: Command): string {
  const { parent } = command
  return parent ? `${pathOf(parent)} ${command.name()}` : command.name()
}

/** Describes a command, or its subcommands if it has any. */
function section(command: Command): string {
  if (command.commands.length > 0) return sections(command)
  const path = pathOf(command)
  const operands = command.registeredArguments.map((operand) => {
    const shown = `${operand.name()}${operand.variadic ? '…' : ''}`
    return operand.required ? `<${shown}>` : `[${shown}]`
  })
  const aliases = command.aliases()
  const also = aliases.length > 0 ? ` Also: ${aliases.map(code).join(', ')}.` : ''
  const line = [path, ...operands].join(' ')
  return `## ${path}\n\n\`${line}\`\n\n${cell(command.description())}.${also}\n${optionsOf(command)}`
}

/** Sections of the commands that help shows, except `help`. */
const sections = (command: Command): string =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => command.commands.includes(each))
    .map(section)
    .join('\n')

/** Returns the text of docs/reference/cli.md. */
export function commandReference(): string {
  const program = createInertProgram()
  return `# Command line

Every command except \`start\` and \`migrate\` talks to a gateway over HTTP. This page is generated from the command tree.

Data goes to stdout, everything else to stderr. The URL of the gateway comes from \`--registry\`, else \`TOWPATH_REGISTRY\`, else
\`registry_url\` in \`~/.towpath.conf\`, else \`http://127.0.0.1:8080\`. The access token comes from \`TOWPATH_TOKEN\`, else
the sign-in at that gateway by \`towpath login\`, which is renewed by itself, else \`access_token\` in that file; the latter is
sent with every request, wherever the URL comes from.

In the strings of every JSON or YAML file, \`\${VAR}\` is replaced from the environment. If any variable is not set, the
command lists all unset variables with their places and sends nothing.

## Exit codes

<!-- prettier-ignore -->
| Code | Meaning |
|---|---|
| 0 | Success |
| 1 | Any other failure |
| 2 | Invalid command line or file, an unset \`\${VAR}\`, or input that the gateway rejects (400) |
| 3 | Not found (404) |
| 4 | No valid access token, or not permitted (401, 403) |
| 5 | Conflict (409) |
| 6 | The gateway cannot be reached |
| 7 | The tool returned an error; its output is on stdout |
| 8 | Definitions wait for a decision |
| 130 | Interrupted |

## Global options
${optionsOf(program)}
${sections(program)}`
}
