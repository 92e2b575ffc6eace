import { createHash } from 'node:crypto'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PRODUCT } from '../../domain/product.ts'
import { createCli, type Cli } from '../cli.ts'
import { placeOf, type Live, type Word } from '../complete.ts'
import { writePrivately } from '../config-file.ts'
import { KINDS, type KindName } from '../kinds.ts'
import { labelOf, type Records } from '../records.ts'
import { describedProgram } from '../reference.ts'
import type { Action } from '../runner.ts'

/** Every press of the key asks: names are good for so long, and a gateway that does not answer is not waited for. */
const FRESH_MS = 5_000
const TIMEOUT_MS = 1_500

/** What says to the script that names of files belong here. */
const FILES = ':files'

/** By gateway and caller: what one may see is not another's. */
function cachePath({ world, connection: { registry, token } }: Cli, kind: KindName): string {
  const folder = world.env.XDG_CACHE_HOME || join(world.home, '.cache')
  const key = createHash('sha256')
    .update(JSON.stringify([registry, token ?? null, kind]))
    .digest('hex')
  return join(folder, PRODUCT, `names-${key.slice(0, 32)}.json`)
}

async function cached(path: string): Promise<readonly string[] | undefined> {
  try {
    const { mtimeMs } = await stat(path)
    return Math.abs(Date.now() - mtimeMs) < FRESH_MS
      ? (JSON.parse(await readFile(path, 'utf8')) as string[])
      : undefined
  } catch {
    return undefined
  }
}

async function namesOf(cli: Cli, kind: KindName): Promise<readonly string[]> {
  const path = cachePath(cli, kind)
  const known = await cached(path)
  if (known) return known
  const { body } = await cli.api.send<readonly Records[KindName][]>('GET', KINDS[kind].path, undefined, {
    timeoutMs: TIMEOUT_MS
  })
  const names = body.map(labelOf)
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
  await writePrivately(path, JSON.stringify(names))
  return names
}

/** Nothing where a gateway is not there, or says no: a line that is being typed is no place for errors. */
async function liveWords(cli: Cli, { live }: Live): Promise<Word[]> {
  const lists = await Promise.all(live.map((kind) => namesOf(cli, kind).catch(() => [])))
  return lists.flat().map((text) => ({ text, about: '' }))
}

/** Text of an upstream that a shell or terminal would take for a command is not offered. */
const isPlain = (text: string) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
/** bash puts candidates into the line as they are. */
const forBash = (text: string) => text.replace(/[^\p{L}\p{N}_@%+=:,./-]/gu, String.raw`\$&`)

/** `towpath __complete SHELL -- WORDS…`, the last being typed: a candidate for each line, and what it is after a tab. */
export const complete: Action = async (given, [shell = '', ...line]) => {
  const { wanted, registry } = placeOf(describedProgram(), line)
  if ('files' in wanted) return given.out(FILES)
  const cli = registry === undefined ? given : await createCli(given.world, { registry, quiet: true })
  const found = 'live' in wanted ? await liveWords(cli, wanted) : wanted.words
  const begun = line.at(-1) ?? ''
  const fitting = found.filter(({ text }) => text.startsWith(begun) && isPlain(text))
  const shown = fitting.map(({ text, about }) => {
    if (shell === 'bash') return forBash(text)
    return about === '' ? text : `${text}\t${about}`
  })
  cli.out(shown.join('\n'))
}
