import { definitionLabel, shownValue } from '../../domain/definitions/shown.ts'
import { diffLines, hunksOf, type DiffLine } from '../../domain/text/diff.ts'
import { escapeText } from '../../domain/text/text.ts'
import type { Definition, Lock } from '../../schemas/definition.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, notFound, usage } from '../io/failure.ts'
import { itemPath } from '../io/kinds.ts'
import type { Paint } from '../io/messages.ts'
import { confirm } from '../io/prompt.ts'
import type { Action } from '../io/runner.ts'
import { readDefinitions } from './read.ts'
import type { Column } from '../output/records.ts'
import { rowsView } from '../output/views.ts'

interface ListFlags {
  readonly held?: boolean
  readonly server?: string
}

const PATH = '/api/v0/definitions'
/** Definitions that the gateway decides on at once. */
const MAX_DECIDED = 200
const MAX_LINE = 4_000

const stateColours = { accepted: undefined, new: 'yellow', changed: 'yellow', rejected: 'dim' } as const

const columns: readonly Column<Definition>[] = [
  { head: 'item', value: definitionLabel },
  { head: 'state', value: ({ state }) => state, colour: ({ state }) => stateColours[state] },
  { head: 'since', value: ({ state, since }) => (state === 'accepted' ? undefined : since) },
  { head: 'changed', value: ({ changes }) => changes.map(({ member }) => member).join(', ') },
  {
    head: 'warnings',
    value: ({ warnings }) => [...new Set(warnings.map(({ rule }) => rule))].join(', '),
    colour: () => 'red'
  },
  { head: 'policy', value: ({ policy }) => policy, isWide: true },
  { head: 'fingerprint', value: ({ fingerprint }) => fingerprint, isWide: true }
]

const held = async (cli: Cli, server?: string) => [
  ...(await readDefinitions(cli, 'held', server)),
  ...(await readDefinitions(cli, 'rejected', server))
]

/** Lists definitions with their states; with `--held` those that wait for a decision. */
export const listDefinitions: Action<ListFlags> = async (cli, _args, { held: isHeld, server }) => {
  const items = await readDefinitions(cli, isHeld ? 'held' : 'all', server)
  await cli.show({ body: { items } }, rowsView(columns, items, definitionLabel))
}

/** An item as the command line names it, with the fingerprint that it must have, if given. */
interface Named {
  readonly text: string
  readonly label: string
  readonly fingerprint: string | undefined
}

function readNamed(text: string): Named {
  const match = /^(.+)@(sha256:[0-9a-f]{64})$/s.exec(text)
  return { text, label: match?.[1] ?? text, fingerprint: match?.[2] }
}

const isNamed = ({ label }: Named) => {
  const tool = /^([^/]+?)__(.+)$/s.exec(label)
  return (each: Definition) =>
    definitionLabel(each) === label ||
    (tool !== null && each.kind === 'tool' && each.server === tool[1] && each.name === tool[2])
}

/** Returns the definitions that the operands name. Throws a usage or not-found Failure. */
function findNamed(items: readonly Definition[], operands: readonly string[]): Definition[] {
  return operands.map((text) => {
    const named = readNamed(text)
    const found = items.find(isNamed(named))
    if (!found) {
      throw notFound(
        `nothing of "${escapeText(named.label, 300)}" waits for a decision`,
        'name it as "towpath definitions --held -o name" does: <server>/<kind>/<name>'
      )
    }
    if (named.fingerprint !== undefined && named.fingerprint !== found.fingerprint)
      throw usage(`"${escapeText(named.label, 300)}" has another fingerprint now: ${found.fingerprint}`)
    return found
  })
}

const marks: Readonly<Record<DiffLine['change'], string>> = { same: ' ', added: '+', removed: '-' }
const lineColours = { same: 'dim', added: 'green', removed: 'red' } as const
const shownLine = (text: string) => escapeText(text, MAX_LINE)

type Change = Definition['changes'][number]

/** Lines of one changed member: what was removed, then what was added. */
function changeLines({ member, before, after }: Change, paint: Paint): string[] {
  const [old, now] = [shownValue(member, before), shownValue(member, after)]
  const lines =
    before === null || after === null
      ? (before ?? after) === null
        ? []
        : diffLines(old, now).filter(({ change }) => change === (before === null ? 'added' : 'removed'))
      : diffLines(old, now)
  const hunks = hunksOf(lines, ({ change }) => change !== 'same')
  return [
    paint('bold', shownLine(member)),
    ...hunks.flatMap((hunk) => [
      ...(hunk.skipped > 0 ? [paint('dim', `  … ${hunk.skipped} unchanged`)] : []),
      ...hunk.lines.map(({ change, text }) => paint(lineColours[change], `  ${marks[change]} ${shownLine(text)}`))
    ])
  ]
}

const originWords = { server_info_name: 'name in serverInfo', command: 'command', url: 'origin of the URL' } as const
const orNone = (text: string | null) => (text === null ? '(none)' : shownLine(text))

/** Text of a definition that waits: changes, warnings and what else differs. */
function detailsOf(item: Definition, paint: Paint): string {
  const { state, since, policy, changes, warnings, origin = [], fingerprint, pinned_fingerprint: pinned } = item
  const served = {
    follow: 'the new definition is served',
    pin: 'the accepted definition is served',
    block: 'nothing is served'
  }
  const isTextLost = state !== 'new' && pinned !== undefined && changes.every(({ before }) => before === null)
  return [
    `${paint('bold', shownLine(definitionLabel(item)))}  ${state} since ${since}`,
    state === 'new' && policy !== 'follow' ? 'never accepted: not served' : served[policy],
    ...(isTextLost ? ['the accepted text is not known any more, only its fingerprint'] : []),
    ...origin.map(
      ({ member, before, after }) =>
        `${paint('red', `${originWords[member as keyof typeof originWords] ?? member} changed`)}: ${orNone(before)} -> ${orNone(after)}`
    ),
    ...warnings.map(({ rule, member }) => paint('red', `warning: ${rule} in ${shownLine(member)}`)),
    ...changes.flatMap((change) => changeLines(change, paint)),
    paint('dim', `${pinned ?? '(none)'} -> ${fingerprint}`)
  ].join('\n')
}

const showDetails = (cli: Cli, items: readonly Definition[]) =>
  cli.show(
    { body: { items } },
    {
      table: (_width, paint) => items.map((item) => detailsOf(item, paint)).join('\n\n'),
      names: () => items.map((item) => `${definitionLabel(item)}@${item.fingerprint}`)
    }
  )

const serverOf = (operands: readonly string[]): string | undefined => {
  const servers = new Set(operands.map((text) => /^(.+?)(?:\/|__)/s.exec(text)?.[1]))
  return servers.size === 1 ? [...servers][0] : undefined
}

/** Reads what waits at the servers that the operands name. */
const heldFor = (cli: Cli, operands: readonly string[]) => held(cli, serverOf(operands))

/** Shows what differs between the accepted and the present definition. */
export const diffDefinition: Action = async (cli, operands) => {
  await showDetails(cli, findNamed(await heldFor(cli, operands), operands))
}

async function decide(cli: Cli, verb: 'accept' | 'reject', items: readonly Definition[]): Promise<void> {
  for (let at = 0; at < items.length; at += MAX_DECIDED) {
    const seen = items.slice(at, at + MAX_DECIDED)
    await cli.api.post(`${PATH}/${verb}`, {
      items: seen.map(({ server, kind, name, fingerprint }) => ({ server, kind, name, fingerprint }))
    })
  }
  const done = { accept: 'accepted', reject: 'rejected' }[verb]
  for (const item of items) cli.note(`${done} ${escapeText(definitionLabel(item), 300)}`)
}

const showDecided = (cli: Cli, items: readonly Definition[], skipped: readonly Definition[]) =>
  cli.show(
    { body: { decided: items.map(definitionLabel), skipped: skipped.map(definitionLabel) } },
    { table: () => '', names: () => items.map(definitionLabel) }
  )

/** Shows the definitions on stderr and asks; without a terminal the operands say enough. */
async function isConfirmed(cli: Cli, items: readonly Definition[]): Promise<boolean> {
  if (!cli.canPrompt) return true
  cli.announce(items.map((item) => detailsOf(item, (_colour, text) => text)).join('\n\n'))
  return confirm(cli.io, `Accept ${items.length === 1 ? 'this definition' : `these ${items.length} definitions`}?`)
}

interface AcceptFlags {
  readonly server?: string
}

/**
 * Makes present definitions the accepted ones: those that are named, and with `--server` all of a server that wait,
 * except those with warnings that are not named.
 */
export const acceptDefinitions: Action<AcceptFlags> = async (cli, operands, { server }) => {
  if (server === undefined && operands.length === 0)
    throw usage('name definitions, or a server with --server', 'see "towpath definitions --held"')
  const waiting = server === undefined ? await heldFor(cli, operands) : await held(cli, server)
  const named = findNamed(waiting, operands)
  const others =
    server === undefined ? [] : waiting.filter((item) => item.state !== 'rejected' && !named.includes(item))
  const skipped = others.filter(({ warnings }) => warnings.length > 0)
  const items = [...named, ...others.filter(({ warnings }) => warnings.length === 0)]
  if (server !== undefined && !cli.assumesYes && !cli.canPrompt)
    throw usage(`this accepts ${items.length} definitions of "${server}"`, 'pass --yes, or name them')
  if (items.length > 0 && !(await isConfirmed(cli, items))) {
    cli.note('nothing was accepted')
    return
  }
  await decide(cli, 'accept', items)
  for (const item of skipped) {
    const rules = [...new Set(item.warnings.map(({ rule }) => rule))].join(', ')
    cli.warn(`${escapeText(definitionLabel(item), 300)} was skipped: ${rules}`)
  }
  if (skipped.length > 0) cli.note('look at what was skipped with "towpath definitions diff", then accept it by name')
  await showDecided(cli, items, skipped)
  return skipped.length > 0 ? EXIT.held : EXIT.done
}

/** Takes definitions out of sight until they change again. */
export const rejectDefinitions: Action = async (cli, operands) => {
  const items = findNamed(await heldFor(cli, operands), operands)
  await decide(cli, 'reject', items)
  await showDecided(cli, items, [])
}

const POLICIES = ['follow', 'pin', 'block', 'default']

/** Shows or sets the policy of a server for definitions. */
export const definitionPolicy: Action = async (cli, [server = '', policy]) => {
  if (policy !== undefined && !POLICIES.includes(policy)) throw usage(`the policy is one of ${POLICIES.join(', ')}`)
  const path = itemPath('server', server)
  const { body } =
    policy === undefined
      ? await cli.api.get<{ definitions?: string }>(path)
      : await cli.api.put<{ definitions?: string }>(`${path}/definitions`, {
          policy: policy === 'default' ? null : policy
        })
  const shown = { server, policy: body.definitions ?? 'default' }
  await cli.show({ body: shown }, { table: () => shown.policy, names: () => [shown.policy] })
}

/** Shows the fingerprints of all accepted definitions, as `pins` of server files. */
export const lockDefinitions: Action<Pick<ListFlags, 'server'>> = async (cli, _args, { server }) => {
  const { servers } = (await cli.api.get<Lock>(`${PATH}/lock`)).body
  const shown = server === undefined ? servers : { [server]: servers[server] }
  if (server !== undefined && !servers[server]) throw notFound(`server "${server}" does not exist`)
  const body = { servers: shown }
  await cli.show({ body }, { table: () => JSON.stringify(body, null, 2), names: () => Object.keys(shown) })
}
