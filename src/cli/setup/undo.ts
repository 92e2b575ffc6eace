import { lstat, rm } from 'node:fs/promises'
import { CLIENT_TITLES } from '../../domain/clients/clients.ts'
import type { MemberChange } from '../../domain/clients/snippets.ts'
import type { Registration } from '../../domain/import/entry.ts'
import { isObject } from '../../domain/is-object.ts'
import { PRODUCT } from '../../domain/product.ts'
import { changedLines, maskLine } from '../clients/changed-lines.ts'
import { backupPath, backUp, readClientFile, writeClientFile, type ClientFile } from '../clients/client-file.ts'
import { editConfig, parseConfig } from '../clients/edit.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure, notFound } from '../io/failure.ts'
import { itemPath } from '../io/kinds.ts'
import { confirm } from '../io/prompt.ts'
import type { Column } from '../output/records.ts'
import { rowsView } from '../output/views.ts'
import { identityOf } from './merge.ts'
import { hashOf, lastRecord, removeRecord, type SavedFile, type SetupRecord } from './record.ts'

interface Row {
  readonly kind: 'file' | 'server'
  readonly name: string
  readonly outcome: 'restored' | 'removed' | 'merged' | 'unchanged' | 'kept' | 'refused'
  readonly problem?: string
}

const columns: readonly Column<Row>[] = [
  { head: 'kind', value: ({ kind }) => kind },
  { head: 'outcome', value: ({ outcome }) => outcome },
  { head: 'name', value: ({ name }) => name },
  { head: 'remarks', value: ({ problem }) => problem }
]

const row = (saved: SavedFile, outcome: Row['outcome'], problem?: string): Row => {
  return { kind: 'file', name: saved.path, outcome, ...(problem === undefined ? {} : { problem }) }
}

/** Returns the backup of a file; undefined if set-up created it, or was stopped before it made the backup. */
async function readBackup({ path, before }: SavedFile, at: Date): Promise<ClientFile | undefined> {
  for (let count = 1; ; count++) {
    const copy = await readClientFile(backupPath(path, at, count))
    if (!copy || hashOf(copy.bytes) === before) return copy
  }
}

const valueAt = (document: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    document
  )

/** Returns the text of a file that has changed since, with the entries of set-up removed and the former ones put back. */
async function revertEntries(saved: SavedFile, present: ClientFile, backup: ClientFile | undefined): Promise<string> {
  const { path, language, added, removed } = saved
  const old = backup ? await parseConfig(backup.text, language, path) : {}
  const now = await parseConfig(present.text, language, path)
  const isEntry = (entry: readonly string[]) => entry.at(-1) !== 'inputs'
  const changes: MemberChange[] = [
    ...added.filter(isEntry).map((entry) => ({ path: entry, value: valueAt(old, entry) })),
    ...removed
      .filter((entry) => valueAt(now, entry) === undefined)
      .map((entry) => ({ path: entry, value: valueAt(old, entry) }))
  ]
  return editConfig(present.text, language, changes, path)
}

/** Asks, shows or does, depending on the flags of the command. */
interface Consent {
  readonly isDry: boolean
  (question: string): Promise<boolean>
}

async function restoreChanged(
  cli: Cli,
  saved: SavedFile,
  present: ClientFile,
  at: Date,
  agrees: Consent
): Promise<Row> {
  const backup = await readBackup(saved, at)
  const text = await revertEntries(saved, present, backup)
  if (text === present.text) return row(saved, 'unchanged')
  const where = backup === undefined ? '' : `; the backup is ${backup.path}`
  cli.announce(`${saved.path} has changed since the set-up. Undo would change it like this${where}:`)
  for (const line of changedLines(present.text, text)) cli.announce(`  ${maskLine(line)}`)
  if (!(await agrees('Change it?'))) return row(saved, 'kept', 'it has changed since the set-up')
  if (!agrees.isDry) {
    await backUp(present, new Date())
    await writeClientFile(saved.path, present, text)
  }
  return row(saved, 'merged', 'it had changed since: only the entries were exchanged')
}

async function restoreFile(cli: Cli, saved: SavedFile, at: Date, agrees: Consent): Promise<Row> {
  const present = await readClientFile(saved.path)
  const hash = present && hashOf(present.bytes)
  if (hash === saved.before) {
    if (!agrees.isDry) await removeBackup(saved, at)
    return row(saved, 'unchanged')
  }
  if (!present) return row(saved, 'refused', 'the file was removed; its backup is next to it')
  if (hash !== saved.after) return restoreChanged(cli, saved, present, at, agrees)
  if (saved.before === undefined) {
    if (!agrees.isDry) await rm(saved.path)
    return row(saved, 'removed')
  }
  const backup = await readBackup(saved, at)
  if (!backup) return row(saved, 'refused', 'its backup is missing')
  if (!agrees.isDry) {
    await writeClientFile(saved.path, present, backup.bytes, saved.mode)
    await removeBackup(saved, at)
  }
  return row(saved, 'restored')
}

/** Removes the backup once the file has its content again. */
async function removeBackup(saved: SavedFile, at: Date): Promise<void> {
  const backup = await readBackup(saved, at)
  if (backup && (await lstat(backup.path)).isFile()) await rm(backup.path)
}

async function tryFile(cli: Cli, saved: SavedFile, at: Date, agrees: Consent): Promise<Row> {
  try {
    return await restoreFile(cli, saved, at, agrees)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return row(saved, 'refused', error.message.replace(`${saved.path}: `, ''))
  }
}

/** Returns the servers that set-up registered and that are still configured like that. */
async function removableServers(cli: Cli, { servers, registry }: SetupRecord): Promise<string[]> {
  if (servers.length === 0) return []
  if (registry !== cli.api.registry) {
    cli.warn(`the set-up registered servers at ${registry}, not at ${cli.api.registry}: they stay`)
    return []
  }
  const { body } = await cli.api.get<readonly Registration[]>('/api/v0/server_configs')
  const present = new Map(body.map((config) => [config.name, hashOf(identityOf(config))]))
  return servers.filter(({ name, identity }) => present.get(name) === identity).map(({ name }) => name)
}

async function removeServers(cli: Cli, record: SetupRecord, agrees: Consent): Promise<Row[]> {
  const names = await removableServers(cli, record)
  if (names.length === 0) return []
  const agreed = await agrees(`Remove the servers that the set-up registered (${names.join(', ')})?`)
  if (agreed && !agrees.isDry) for (const name of names) await cli.api.remove(itemPath('server', name))
  return names.map((name) => ({ kind: 'server', name, outcome: agreed ? 'removed' : 'kept' }))
}

/** Restores the files of the last set-up, and offers to remove the servers that it registered. */
export async function undo(cli: Cli, isDry: boolean): Promise<number> {
  const last = await lastRecord(cli.io)
  if (!last) throw notFound('there is no set-up to undo')
  const { path, record } = last
  const at = new Date(record.at)
  const ask = async (question: string) => isDry || !cli.canPrompt || confirm(cli.io, question)
  const agrees: Consent = Object.assign(ask, { isDry })
  const titles = [...new Set(record.files.map(({ client }) => CLIENT_TITLES[client]))]
  if (
    cli.canPrompt &&
    !(await confirm(cli.io, `Undo the set-up of ${record.at}${titles.length === 0 ? '' : ` (${titles.join(', ')})`}?`))
  )
    return EXIT.interrupted
  const rows: Row[] = []
  for (const saved of record.files) rows.push(await tryFile(cli, saved, at, agrees))
  const servers = await removeServers(cli, record, agrees)
  const all = [...rows, ...servers]
  await cli.show(
    { body: { record: path, dry_run: isDry, changes: all } },
    rowsView(columns, all, ({ name }) => name)
  )
  if (rows.some(({ outcome }) => outcome === 'refused' || outcome === 'kept')) {
    cli.note(`run \`${PRODUCT} setup --undo\` again once the files above can be changed`)
    return EXIT.failed
  }
  if (!isDry) await removeRecord(path)
  return EXIT.done
}
