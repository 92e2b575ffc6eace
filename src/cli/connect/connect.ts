import {
  CLIENT_TITLES,
  clientSnippets,
  fileChange,
  TOKEN_PLACEHOLDER,
  type ClientName,
  type FileChange,
  type Target
} from '../../domain/clients/snippets.ts'
import { isName, NAME_RULE } from '../../domain/names.ts'
import { mcpPath } from '../../domain/network/mcp-endpoint.ts'
import { PRODUCT } from '../../domain/product.ts'
import { MASK } from '../../domain/secrets/secret-parts.ts'
import { escapeText } from '../../domain/text/text.ts'
import type { Cli } from '../io/cli.ts'
import { changedLines, maskLine } from '../clients/changed-lines.ts'
import { backUp, checkWritable, readClientFile, writeClientFile } from '../clients/client-file.ts'
import { clientOf } from '../clients/client-names.ts'
import { editConfig } from '../clients/edit.ts'
import { placePath } from '../clients/paths.ts'
import { checkToken } from '../io/connection.ts'
import { needsToken } from '../io/mode.ts'
import { EXIT, Failure, usage } from '../io/failure.ts'
import { itemPath } from '../io/kinds.ts'
import { withSuggestion } from '../output/lookup.ts'
import type { Action } from '../io/runner.ts'
import { secretFromStdin } from '../io/secret.ts'
import { programWords } from './program-words.ts'

interface Flags {
  readonly group?: string
  readonly name: string
  readonly tokenVariable: string
  readonly tokenStdin?: boolean
  readonly print?: boolean
  readonly write?: boolean
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
  const url = cli.api.registry + mcpPath(group)
  return { name, url, program: programWords(cli.io), ...(isClosed ? { tokenVariable } : {}) }
}

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

async function write(cli: Cli, client: ClientName, target: Target, flags: Flags): Promise<void> {
  const fileEdit = fileChange(client, target)
  if (!fileEdit)
    throw usage(`${CLIENT_TITLES[client]} has no configuration file to write`, `see \`${PRODUCT} connect ${client}\``)
  const path = placePath(cli.io, fileEdit.place)
  const { change, token } = await insertToken(cli, fileEdit, flags)
  const before = await readClientFile(path)
  const text = await editConfig(before?.text ?? '', change.place.language, change.members, path)
  const isSame = text === before?.text
  if (before) checkWritable(before)
  const backup = before && !isSame ? await backUp(before, new Date()) : undefined
  if (!isSame || (token && before.mode !== 0o600))
    await writeClientFile(path, before, text, token ? 0o600 : (before?.mode ?? 0o644))
  const lines = changedLines(before?.text ?? '', text).map((line) => shownLine(line, token))
  cli.note(isSame ? `${path} is already up to date` : `wrote ${path}${backup ? `; backup in ${backup}` : ''}`)
  const body = { client, endpoint: target.url, file: path, changed: !isSame, ...(backup ? { backup } : {}) }
  await cli.show({ body }, { table: () => lines.join('\n'), names: () => [path] })
}

/** Masks a changed line: in the old file any value may be a secret, in the new lines only the token is one. */
const shownLine = (line: string, token: string | undefined): string =>
  line.startsWith('-') ? maskLine(line) : escapeText(line.replaceAll(token ?? TOKEN_PLACEHOLDER, MASK), 2_000)

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
