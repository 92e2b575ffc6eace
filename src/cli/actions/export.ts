import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createReferences, withReferences, type References } from '../../domain/references.ts'
import type { Cli } from '../cli.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { KINDS } from '../kinds.ts'
import type { Records } from '../records.ts'
import type { Action } from '../runner.ts'
import { namesView } from '../views.ts'

interface Flags {
  readonly dir: string
  readonly withSecrets?: boolean
}

type File = readonly [path: string, text: string]
type Config = Readonly<Record<string, unknown>> & { readonly name: string }

const json = (path: string, value: object): File => [path, `${JSON.stringify(value, null, 2)}\n`]

async function checkEmpty(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw usage(`${folder} cannot be used as a folder`)
  })
  if (names.length > 0) throw usage(`${folder} is not empty`, 'name another folder with -d')
}

/** Development mode has no clients and users. */
async function principals<T>(cli: Cli, path: string): Promise<readonly T[]> {
  try {
    return (await cli.api.get<readonly T[]>(path)).body
  } catch (error) {
    if (error instanceof Failure && /only in enterprise mode/.test(error.message)) return []
    throw error
  }
}

async function collect(cli: Cli, references: References, keepSecrets: boolean): Promise<File[]> {
  const servers = (await cli.api.get<readonly Config[]>('/api/v0/server_configs')).body
  const groups = (await cli.api.get<readonly Records['group'][]>(KINDS.group.path)).body
  const clients = await principals<Records['client']>(cli, KINDS.client.path)
  const users = await principals<Records['user']>(cli, KINDS.user.path)
  const token = (kind: string, name: string) => ({ access_token_ref: { env: references.name(kind, name, 'token') } })
  return [
    ...servers.map((config) => json(`servers/${config.name}.json`, withReferences(config, references, keepSecrets))),
    ...groups.map((group) => json(`groups/${group.name}.json`, { ...group, missing: undefined })),
    ...clients.map((client) => json(`clients/${client.name}.json`, { ...client, ...token('client', client.name) })),
    ...users.map((user) => json(`users/${user.name}.json`, { ...user, ...token('user', user.name) }))
  ]
}

/** Whatever is written can be read by its owner alone: with or without secrets it says how the gateway is built. */
async function write(folder: string, [path, text]: File): Promise<string> {
  const target = join(folder, path)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  await writeFile(target, text, { mode: 0o600, flag: 'wx' })
  return target
}

export const exportAll: Action<Flags> = async (cli, _args, { dir, withSecrets = false }) => {
  await checkEmpty(dir)
  const references = createReferences()
  const files = await collect(cli, references, withSecrets)
  const names = references.names()
  if (names.length > 0) files.push(['secrets.env.example', names.map((name) => `${name}=\n`).join('')])
  const written: string[] = []
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    for (const file of files) written.push(await write(dir, file))
  } catch (cause) {
    throw new Failure(EXIT.failed, `cannot write into ${dir}`, { cause })
  }
  cli.note(`exported ${written.length} files to ${dir}`)
  if (names.length > 0) cli.note(`set the variables of ${join(dir, 'secrets.env.example')} before the files are used`)
  await cli.show({ body: { files: written, variables: names } }, namesView(written))
}
