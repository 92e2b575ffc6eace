import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isName } from '../../domain/names.ts'
import { createReferences, replaceByReferences, type References } from '../../domain/secrets/references.ts'
import { mapSecrets, type ToolOverrides } from '../../domain/overrides/tool-overrides.ts'
import type { Cli } from '../io/cli.ts'
import { FOLDERS } from '../apply/desired.ts'
import { EXIT, Failure, usage } from '../io/failure.ts'
import type { Lock } from '../../schemas/definition.ts'
import type { FileKind } from '../io/kinds.ts'
import type { Records } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { listDeclared } from '../apply/state.ts'
import { readSwitches, switchMembers } from '../apply/switches.ts'
import { namesView } from '../output/views.ts'

interface Flags {
  readonly dir: string
  readonly withSecrets?: boolean
  readonly pins?: boolean
}

type File = readonly [path: string, text: string]
type Config = Readonly<Record<string, unknown>> & { readonly name: string }

async function checkEmpty(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw usage(`${folder} is not a usable folder`)
  })
  if (names.length > 0) throw usage(`${folder} is not empty`, 'choose another folder with -d')
}

/** Reads the configurations of servers with their switches. */
async function readServers(cli: Cli, withPins: boolean): Promise<Config[]> {
  const servers: Config[] = []
  const lock = withPins ? (await cli.api.get<Lock>('/api/v0/definitions/lock')).body.servers : {}
  for (const config of (await cli.api.get<readonly Config[]>('/api/v0/server_configs')).body) {
    const pins = withPins ? { pins: lock[config.name]?.pins ?? {} } : {}
    servers.push({ ...config, ...switchMembers(await readSwitches(cli, config.name)), ...pins })
  }
  return servers
}

async function collect(
  cli: Cli,
  references: References,
  { withSecrets: keepSecrets = false, pins = false }: Flags
): Promise<File[]> {
  const servers = await readServers(cli, pins)
  const list = async <T extends object = Config>(kind: FileKind) => (await listDeclared<T>(cli, kind)) ?? []
  const groups = await list<Records['group']>('group')
  const [clients, users] = [await list('client'), await list('user')]
  const [teams, policies] = [await list('team'), await list('policy')]
  const file = (kind: FileKind, config: Config, more: object = {}): File => {
    // the name becomes a path, and the gateway is not trusted
    if (!isName(config.name)) throw new Failure(EXIT.failed, `the gateway returned a ${kind} with an invalid name`)
    const own = Object.fromEntries(Object.entries(config).filter(([member]) => !(member in more))) as Config
    const value = { ...replaceByReferences(kind, own, references, keepSecrets), ...more }
    return [`${FOLDERS[kind][0]}/${config.name}.json`, `${JSON.stringify(value, null, 2)}\n`]
  }
  const token = (kind: FileKind, { name }: Config) => ({
    access_token_ref: { env: references.name(kind, name, 'token') }
  })
  return [
    ...servers.map((config) => file('server', config)),
    ...groups.map(({ missing: _missing, stale: _stale, broken: _broken, ...group }) =>
      file('group', group, lockReferences(group, references))
    ),
    ...clients.map((client) => file('client', client, token('client', client))),
    ...users.map((user) => file('user', user, token('user', user))),
    ...teams.map((team) => file('team', team)),
    // those of the policy file are files already
    ...policies.filter(({ source }) => source !== 'file').map((policy) => file('policy', policy))
  ]
}

/** Returns the overrides of a group with references to variables instead of the secrets in its locks. */
function lockReferences({ name, tools }: Pick<Records['group'], 'name' | 'tools'>, references: References) {
  if (tools === undefined) return {}
  const { tools: written } = replaceByReferences('group', { name, tools }, references, true)
  const refer = (tool: string, argument: string) => references.refer('towpath_lock', name, tool, argument)
  return { tools: mapSecrets(written as ToolOverrides, refer) }
}

/** Writes a file readable by its owner only: even without secrets it describes the gateway's setup. */
async function write(folder: string, [path, text]: File): Promise<string> {
  const target = join(folder, path)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  await writeFile(target, text, { mode: 0o600, flag: 'wx' })
  return target
}

export const exportAll: Action<Flags> = async (cli, _args, flags) => {
  const { dir } = flags
  await checkEmpty(dir)
  const references = createReferences()
  const files = await collect(cli, references, flags)
  const names = references.names()
  if (names.length > 0) files.push(['secrets.env.example', names.map((name) => `${name}=\n`).join('')])
  const written: string[] = []
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    for (const file of files) written.push(await write(dir, file))
  } catch (cause) {
    throw new Failure(EXIT.failed, `cannot write to ${dir}`, { cause })
  }
  cli.note(`exported ${written.length} files to ${dir}`)
  if (names.length > 0) cli.note(`set the variables in ${join(dir, 'secrets.env.example')} before using the files`)
  await cli.show({ body: { files: written, variables: names } }, namesView(written))
}
