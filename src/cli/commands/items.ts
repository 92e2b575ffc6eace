import type { Command } from 'commander'
import { KINDS, type KindName } from '../io/kinds.ts'
import type { Runner } from '../io/runner.ts'
import { collect } from './servers.ts'

const about: Readonly<Record<KindName, string>> = {
  server: 'MCP servers',
  tool: 'tools of enabled servers',
  prompt: 'prompts of enabled servers',
  resource: 'resources of enabled servers',
  skill: 'skills of enabled servers',
  group: 'tool groups',
  client: 'MCP clients (enterprise mode)',
  user: 'users (enterprise mode)'
}

const one: Readonly<Record<KindName, string>> = {
  server: 'an MCP server',
  tool: 'a tool',
  prompt: 'a prompt',
  resource: 'a resource',
  skill: 'a skill',
  group: 'a tool group',
  client: 'an MCP client (enterprise mode)',
  user: 'a user (enterprise mode)'
}

const kinds = Object.keys(KINDS) as KindName[]

/** Adds the commands that list, show, switch and use registered items. */
export function addItems(program: Command, run: Runner): void {
  addList(program, run)
  addGet(program, run)
  addDescribe(program, run)
  addSwitches(program, run)
  addUse(program, run)
}

function addList(program: Command, run: Runner): void {
  const list = program
    .command('list')
    .alias('ls')
    .description('List servers, tools, prompts, resources, skills, groups, clients or users')
  for (const kind of kinds) {
    const { singular, plural, aliases } = KINDS[kind]
    const command = list
      .command(plural)
      .aliases([singular, ...aliases])
      .description(`List ${about[kind]}`)
    if (['tool', 'prompt', 'resource', 'skill'].includes(kind))
      command.option('--server <name>', 'only items of this server')
    if (kind === 'tool') command.option('--group <name>', 'only tools that this group serves')
    command.action(run(async () => (await import('../actions/list.ts')).listOf(kind)))
  }
}

function addGet(program: Command, run: Runner): void {
  const get = program
    .command('get')
    .alias('show')
    .description('Show one server, tool, prompt, resource, skill, group, client or user')
  for (const kind of kinds) {
    const { singular, plural, aliases } = KINDS[kind]
    const command = get
      .command(`${singular} <${kind === 'resource' || kind === 'skill' ? 'uri' : 'name'}>`)
      .aliases([plural, ...aliases])
      .description(`Show ${one[kind]}`)
    if (kind === 'prompt')
      command.option('--arg <key=value>', 'render the prompt with this argument; repeatable', collect)
    if (kind === 'resource') command.option('--read', 'read the contents')
    if (kind === 'skill') command.option('--read', 'read its SKILL.md')
    command.action(run(async () => (await import('../actions/get.ts')).getOf(kind)))
  }
}

function addDescribe(program: Command, run: Runner): void {
  const describe = program.command('describe').description('Show everything about one server or tool')
  describe
    .command('server <name>')
    .alias('servers')
    .description('Show state, figures, tools, items left out and the newest failed calls of a server')
    .action(run(async () => (await import('../reports/describe.ts')).describeServer))
  describe
    .command('tool <name>')
    .alias('tools')
    .description('Show the description and parameters of a tool')
    .action(run(async () => (await import('../actions/usage.ts')).showUsage))
}

function addSwitches(program: Command, run: Runner): void {
  for (const verb of ['enable', 'disable'] as const) {
    const title = verb === 'enable' ? 'Enable' : 'Disable'
    const parent = program.command(verb).description(`${title} a server, tool, prompt, resource or skill`)
    // MCPJungle's older form names no kind and means tools
    parent
      .argument('[words...]')
      .usage('<kind> <name>')
      .action(run(async () => (await import('../actions/switch.ts')).switchBare(verb)))
    for (const kind of ['server', 'tool', 'prompt', 'resource', 'skill'] as const) {
      parent
        .command(`${kind} <name>`)
        .alias(KINDS[kind].plural)
        .description(
          kind === 'server' ? `${title} a server` : `${title} a ${kind}, or all ${KINDS[kind].plural} of a server`
        )
        .action(run(async () => (await import('../actions/switch.ts')).switchOf(verb, kind)))
    }
  }
}

function addUse(program: Command, run: Runner): void {
  program
    .command('record <server>')
    .description('Record the arguments and results of the calls of a server for a time')
    .option('--minutes <minutes>', 'end after this many minutes, at most 1440', '60')
    .option('--stop', 'stop recording')
    .action(run(async () => (await import('../actions/logs.ts')).recordServer))

  program
    .command('usage <tool>')
    .description('Show the description and parameters of a tool')
    .action(run(async () => (await import('../actions/usage.ts')).showUsage))

  program
    .command('invoke <tool>')
    .alias('call')
    .description('Call a tool')
    .option('--input <json>', 'arguments as a JSON object, @file, or - for stdin')
    .option('--arg <key=value>', 'one argument, parsed by its type in the tool’s schema; repeatable', collect)
    .option('--group <name>', 'only if this group serves the tool')
    .option('--timeout <duration>', 'time limit, for example 60s, 500ms or 2m')
    .option('--save <folder>', 'save images, audio and files to this folder')
    .action(run(async () => (await import('../actions/invoke.ts')).invoke))

  program
    .command('render <prompt>')
    .description('Render a prompt')
    .option('--arg <key=value>', 'one argument; repeatable', collect)
    .action(run(async () => (await import('../actions/render.ts')).render))

  program
    .command('read <uri>')
    .description('Read a resource')
    .option('--save <folder>', 'save binary contents to this folder')
    .action(run(async () => (await import('../actions/read.ts')).read))
}
