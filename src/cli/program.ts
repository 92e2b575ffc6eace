import { Command, Option } from 'commander'
import { HOMEPAGE, PRODUCT } from '../domain/product.ts'
import { VERSION } from '../domain/version.ts'
import { addAdministration } from './commands/administration.ts'
import { addCatalogue } from './commands/catalogue.ts'
import { addDefinitions } from './commands/definitions.ts'
import { addItems } from './commands/items.ts'
import { addMigrate } from './commands/migrate.ts'
import { addApprovals, addPolicies, addTeams } from './commands/policies.ts'
import { addServers } from './commands/servers.ts'
import { addStart, type StartIo } from './commands/start.ts'
import type { Runner } from './io/runner.ts'

/** Sections of the top-level help. */
const BASIC = 'Basic commands:'
const ADVANCED = 'Advanced commands:'

const examples = `
Examples:
  ${PRODUCT} start --demo                     start a gateway with a demo server
  ${PRODUCT} register files -- npx -y @modelcontextprotocol/server-filesystem ~/docs
  ${PRODUCT} register docs --url https://example.com/mcp
  ${PRODUCT} list servers                     what is registered, and whether it works
  ${PRODUCT} invoke demo__add --arg a=2 --arg b=40
  ${PRODUCT} logs --failed --since 1h         what went wrong
  ${PRODUCT} connect claude-code --write      point a client at the gateway

Documentation: ${HOMEPAGE}#documentation`

/** Creates the command tree. The code of an action is loaded only when its command runs. */
export function createProgram(run: Runner, start: StartIo): Command {
  const program = new Command(PRODUCT)
    .description('A gateway for MCP servers: one endpoint for all their tools, prompts and resources')
    .version(VERSION, '-V, --version')
    .exitOverride()
    .option('--registry <url>', 'URL of the gateway (TOWPATH_REGISTRY, ~/.towpath.conf, http://127.0.0.1:8080)')
    .addOption(new Option('-o, --output <format>', 'output format: table, wide, json, yaml or name').default(undefined))
    .option('--json', 'same as -o json')
    .option('-q, --quiet', 'show only warnings and errors')
    .option('-v, --verbose', 'show each request: method, path, status, time')
    .option('--no-color', 'disable colours (NO_COLOR)')
    .option('-y, --yes', 'skip confirmation prompts')
    .showSuggestionAfterError()
    .helpCommand('help [command]', 'Show help for a command')
    .addHelpText('after', examples)
  program.commandsGroup(BASIC)
  addStart(program, start)
  addServers(program, run)
  addCatalogue(program, run)
  addItems(program, run)
  program.commandsGroup(ADVANCED)
  addAdministration(program, run)
  addPolicies(program, run)
  addApprovals(program, run)
  addDefinitions(program, run)
  addTeams(program, run)
  addMigrate(program, start)
  return program
}
