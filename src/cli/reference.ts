import type { Command } from 'commander'
import { createProgram } from './program.ts'
import type { Runner } from './runner.ts'

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

Every command but \`start\` and \`migrate\` talks to a gateway over HTTP. This page is generated from the command tree.

Data goes to stdout, everything else to stderr. The gateway is named by \`--registry\`, then \`TOWPATH_REGISTRY\`, then
\`registry_url\` in \`~/.towpath.conf\`, then \`http://127.0.0.1:8080\`; the access token by \`TOWPATH_TOKEN\`, then
\`access_token\` in that file. The token goes with every request, whatever names the gateway.

In every JSON or YAML file \`\${VAR}\` in a text is replaced from the environment. If a variable is not set, all of them are
told with their places, and nothing is sent.

## Exit codes

<!-- prettier-ignore -->
| Code | Meaning |
|---|---|
| 0 | Done |
| 1 | A failure that is not named below |
| 2 | A wrong command line or file, an unset \`\${VAR}\`, or input that the gateway does not take (400) |
| 3 | Not found (404) |
| 4 | No valid access token, or not allowed (401, 403) |
| 5 | Conflict (409) |
| 6 | The gateway cannot be reached |
| 7 | The tool answered with an error; what it said is on stdout |
| 130 | Interrupted |

## Options of every command
${optionsOf(program)}
${sections(program)}`
}
