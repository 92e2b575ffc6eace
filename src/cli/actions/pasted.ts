import { importServers, type ImportedServer } from '../../domain/import/formats.ts'
import { isServerName } from '../../domain/names.ts'
import { PRODUCT } from '../../domain/product.ts'
import { maskArguments, maskUrl, MASK, secretArguments, secretNamePattern } from '../../domain/secrets/secret-parts.ts'
import { escapeText } from '../../domain/text/text.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import { readStdin, type InputObject } from '../io/input.ts'
import { expandBodies } from './import.ts'

/** Longest line that shows how a text was understood. */
const MAX_SHOWN = 2_000

/** Returns true if the operands are a text to be understood: `-` for stdin, or one operand that cannot be a name. */
export const isPastedText = (operands: readonly string[]): boolean =>
  operands.length === 1 && (operands[0] === '-' || !isServerName(operands[0]!))

const isReference = (value: string) => /^(?:Bearer )?\$\{\w+\}$/.test(value)
const maskValue = (value: string) => (isReference(value) ? value : MASK)
const quote = (word: string) =>
  /^[\w@%+=:,./${}*-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`

/** Returns how a text was understood, as one line without secrets. */
function shownTarget({ registration }: ImportedServer): string {
  const { transport, url, command = '', args = [], env = {}, headers = {}, bearer_token: token } = registration
  const variables = Object.entries(env).map(([name, value]) => `${name}=${maskValue(value)}`)
  const words = [command, ...maskArguments(args)].map(quote)
  const shownHeaders = Object.entries(headers).map(([name, value]) => `${name}: ${maskValue(value)}`)
  const all = token === undefined ? shownHeaders : [...shownHeaders, `Authorization: Bearer ${maskValue(token)}`]
  const text = url === undefined ? [...variables, ...words].join(' ') : [maskUrl(url), ...all].join(', ')
  return escapeText(`${transport} ${text}`, MAX_SHOWN)
}

/** Returns true if the text contains a secret itself, not a reference to a variable. */
function hasSecret({
  registration: { args = [], env = {}, headers = {}, bearer_token: token }
}: ImportedServer): boolean {
  const values = [
    ...(token === undefined ? [] : [token]),
    ...Object.values(headers),
    ...Object.entries(env).flatMap(([name, value]) => (secretNamePattern.test(name) ? [value] : [])),
    ...secretArguments(args)
  ]
  return values.some((value) => !isReference(value))
}

/**
 * Understands a pasted text and shows how. Returns the registrations with variables from the environment. Fails before
 * any request if a part of the text cannot be registered.
 */
export async function readPasted(cli: Cli, operand: string): Promise<InputObject[]> {
  const isStdin = operand === '-'
  const from = isStdin ? 'stdin' : 'the text'
  const text = isStdin ? await readStdin(cli.io) : operand
  const { servers, problem } = importServers(text, { ownUrls: [cli.api.registry] })
  const forms = `${PRODUCT} register NAME --url URL, NAME -- COMMAND ARGS…, or a text in quotation marks`
  if (problem !== undefined) throw usage(`${from}: ${problem}`, forms)
  const refused = servers.flatMap(({ name, problems }) =>
    problems.length > 0 ? [`"${name}": ${problems.join('; ')}`] : []
  )
  if (refused.length > 0) throw usage(escapeText(`${from}: ${refused.join('\n')}`, MAX_SHOWN), forms)
  if (!isStdin && servers.some(hasSecret))
    cli.warn(
      'a secret on the command line is visible to other users and stays in the shell history',
      `paste the text into \`${PRODUCT} register -\``
    )
  for (const server of servers) {
    cli.note(`understood server "${server.name}": ${shownTarget(server)}`)
    for (const note of server.notes) cli.note(`  ${escapeText(note, MAX_SHOWN)}`)
    if (server.ignored.length > 0) cli.note(`  ignored: ${escapeText(server.ignored.join(', '), MAX_SHOWN)}`)
  }
  const bodies = expandBodies(cli, servers)
  return servers.map((server) => ({ from, value: bodies.get(server) as InputObject['value'] }))
}

/** Fails for a client's configuration, which is no registration. `from` names the file. */
export function checkRegistration(value: unknown, from: string): void {
  const isConfiguration =
    typeof value === 'object' &&
    value !== null &&
    ['mcpServers', 'servers', 'context_servers'].some((key) => key in value)
  if (isConfiguration)
    throw usage(
      `${from} is the configuration of a client, not a registration`,
      `${PRODUCT} import ${from === 'stdin' ? '-' : from}`
    )
}
