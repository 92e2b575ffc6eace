import { constants } from 'node:fs'
import { copyFile, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { ENTERPRISE_MODE_ONLY } from '../../domain/error-codes.ts'
import {
  CLIENTS,
  CLIENT_TITLES,
  clientSnippets,
  fileChange,
  TOKEN_PLACEHOLDER,
  type ClientName,
  type FileChange,
  type Target
} from '../../domain/client-snippets.ts'
import { isName, NAME_RULE } from '../../domain/names.ts'
import { PRODUCT } from '../../domain/product.ts'
import { maskSecrets } from '../../domain/secrets/redaction.ts'
import { MASK } from '../../domain/secrets/secret-parts.ts'
import { escapeText } from '../../domain/text/text.ts'
import type { Cli } from '../io/cli.ts'
import { writeAtomically } from '../io/config-file.ts'
import { checkToken } from '../io/connection.ts'
import { changedLines, edited } from './file-edit.ts'
import { EXIT, Failure, usage } from '../io/failure.ts'
import { itemPath } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { secretFromStdin } from '../io/secret.ts'
import { nearest } from '../output/suggest.ts'
import type { CliIo } from '../io/io.ts'

interface Flags {
  readonly group?: string
  readonly name: string
  readonly tokenVariable: string
  readonly tokenStdin?: boolean
  readonly print?: boolean
  readonly write?: boolean
}

function clientOf(given: string): ClientName {
  const client = CLIENTS.find((each) => each === given)
  if (client) return client
  const suggestion = nearest(given, CLIENTS)
  throw usage(
    `unknown client "${given}"`,
    suggestion ? `did you mean "${suggestion}"?` : `one of ${CLIENTS.join(', ')}`
  )
}

/** True in enterprise mode, which needs tokens. Only the kind of refusal of this request matters. */
async function needsToken(cli: Cli): Promise<boolean> {
  try {
    await cli.api.get('/api/v0/users/whoami')
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.refused) throw error
    return error.code !== ENTERPRISE_MODE_ONLY
  }
  return true
}

/**
 * Fails for an unknown group. Callers who may not read groups get the endpoint that a group of this name would have.
 */
async function checkGroup(cli: Cli, name: string): Promise<void> {
  try {
    await withSuggestion(cli, 'group', name, cli.api.get(itemPath('group', name)))
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.refused) throw error
  }
}

async function targetOf(cli: Cli, { group, name, tokenVariable }: Flags): Promise<Target> {
  if (!isName(name)) throw usage(`--name ${NAME_RULE}`)
  if (!/^[A-Za-z_]\w*$/.test(tokenVariable)) throw usage('--token-variable must be the name of an environment variable')
  const isClosed = await needsToken(cli)
  if (group !== undefined) await checkGroup(cli, group)
  const path = group === undefined ? '/mcp' : `/v0/groups/${encodeURIComponent(group)}/mcp`
  return { name, url: cli.api.registry + path, ...(isClosed ? { tokenVariable } : {}) }
}

/** Returns the system's folder for application data. */
function configFolder({ env, home }: CliIo): string {
  if (process.platform === 'darwin') return join(home, 'Library/Application Support')
  if (process.platform === 'win32') return env.APPDATA ?? join(home, 'AppData/Roaming')
  return env.XDG_CONFIG_HOME ?? join(home, '.config')
}

const pathOf = (io: CliIo, file: string): string =>
  resolve(io.cwd, file.replace(/^~(?=\/)/, io.home).replace(/^\{config\}/, configFolder(io)))

const containsPlaceholder = (change: FileChange) => JSON.stringify(change.members).includes(TOKEN_PLACEHOLDER)

/** Puts the token itself into the file of a client that cannot read environment variables. */
async function insertToken(
  cli: Cli,
  change: FileChange,
  flags: Flags
): Promise<{ change: FileChange; token?: string }> {
  if (!containsPlaceholder(change)) {
    if (flags.tokenStdin) throw usage('this client reads the token from a variable: --token-stdin does not apply')
    return { change }
  }
  const { tokenVariable } = flags
  const given = flags.tokenStdin ? await secretFromStdin(cli, '--token-stdin') : cli.io.env[tokenVariable]
  if (!given)
    throw usage(
      'this client cannot read variables: its file needs the token itself',
      `use --token-stdin, or set ${tokenVariable}`
    )
  const token = checkToken(given, flags.tokenStdin ? 'stdin' : tokenVariable)
  const members = JSON.parse(
    JSON.stringify(change.members).replaceAll(TOKEN_PLACEHOLDER, () => JSON.stringify(token).slice(1, -1))
  ) as FileChange['members']
  return { change: { ...change, members }, token }
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

async function readExisting(path: string): Promise<{ text: string; mode: number } | undefined> {
  try {
    return { text: await readFile(path, 'utf8'), mode: (await stat(path)).mode & 0o777 }
  } catch (cause) {
    if (isMissing(cause)) return undefined
    throw new Failure(EXIT.usage, `cannot read ${path}`, { cause })
  }
}

/** Copies the file to the first free name of `.bak`, `.bak2`, …. */
async function backUp(path: string): Promise<string> {
  for (let count = 1; ; count++) {
    const copy = `${path}.bak${count === 1 ? '' : count}`
    try {
      await copyFile(path, copy, constants.COPYFILE_EXCL)
      return copy
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
        throw new Failure(EXIT.failed, `cannot back up ${path}; the file was not changed`, { cause })
    }
  }
}

const secretMember = /("?[\w-]*(?:auth|token|secret|key|passw|cookie)[\w-]*"?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*')/gi

/** Masks secrets in a changed line: in the old file any value may be one, in the new lines only the token. */
function maskLine(line: string, token: string | undefined): string {
  const masked = line.startsWith('-')
    ? String(maskSecrets(line.replace(secretMember, `$1"${MASK}"`)))
    : line.replaceAll(token ?? TOKEN_PLACEHOLDER, MASK)
  return escapeText(masked, 2_000)
}

async function write(cli: Cli, client: ClientName, target: Target, flags: Flags): Promise<void> {
  const fileEdit = fileChange(client, target)
  if (!fileEdit)
    throw usage(`${CLIENT_TITLES[client]} has no configuration file to write`, `see \`${PRODUCT} connect ${client}\``)
  const path = pathOf(cli.io, fileEdit.file)
  const { change, token } = await insertToken(cli, fileEdit, flags)
  const before = await readExisting(path)
  const text = edited(before?.text ?? '', change, path)
  const isSame = text === before?.text
  const backup = before && !isSame ? await backUp(path) : undefined
  if (!isSame || (token && before.mode !== 0o600)) {
    await mkdir(dirname(path), { recursive: true }).catch((cause: unknown) => {
      throw new Failure(EXIT.failed, `cannot create the folder of ${path}`, { cause })
    })
    await writeAtomically(path, text, token ? 0o600 : (before?.mode ?? 0o644))
  }
  const lines = changedLines(before?.text ?? '', text).map((line) => maskLine(line, token))
  cli.note(isSame ? `${path} is already up to date` : `wrote ${path}${backup ? `; backup in ${backup}` : ''}`)
  const body = { client, endpoint: target.url, file: path, changed: !isSame, ...(backup ? { backup } : {}) }
  await cli.show({ body }, { table: () => lines.join('\n'), names: () => [path] })
}

async function print(cli: Cli, client: ClientName, target: Target): Promise<void> {
  const snippets = clientSnippets(client, target)
  const first = snippets.find(({ language }) => language !== 'url')!
  const noteOf = (note: string | undefined) => (note === undefined ? '' : ` (${note})`)
  if (first.file !== undefined) cli.note(`# ${first.file}${noteOf(first.note)}`)
  else if (first.note !== undefined) cli.note(`# ${first.note}`)
  await cli.show(
    { body: { client, endpoint: target.url, snippets } },
    { table: () => first.text, names: () => [target.url] }
  )
  for (const { title, text, note } of snippets.filter((snippet) => snippet !== first))
    cli.note(`\n# or ${title}${noteOf(note)}:\n${text}`)
  if (target.tokenVariable !== undefined)
    cli.note(`\n# create a token for the client with: ${PRODUCT} create mcp-client NAME --allow SERVERS`)
}

/** Points a client at the gateway. */
export const connect: Action<Flags> = async (cli, [given = ''], flags) => {
  const client = clientOf(given)
  if (flags.print && flags.write) throw usage('use either --print or --write')
  const target = await targetOf(cli, flags)
  return flags.write ? write(cli, client, target, flags) : print(cli, client, target)
}
