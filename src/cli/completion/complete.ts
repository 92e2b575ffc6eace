import { createHash } from 'node:crypto'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PRODUCT } from '../../domain/product.ts'
import type { CataloguePage } from '../../schemas/catalogue.ts'
import { withQuery } from '../io/api.ts'
import { createCli, type Cli } from '../io/cli.ts'
import { completionAt, type Candidate, type Candidates, type GatewayNames } from './context.ts'
import { writePrivateFile } from '../io/config-file.ts'
import { KINDS, type KindName } from '../io/kinds.ts'
import { labelOf, type Records } from '../output/records.ts'
import { createInertProgram } from '../reference.ts'
import type { Action } from '../io/runner.ts'

/** Each key press sends a request, so names are cached briefly and a silent gateway is not waited for. */
const CACHE_MS = 5_000
const TIMEOUT_MS = 1_500

/** Tells the script to complete file names. */
const FILES = ':files'

/** Cache file by gateway and token: callers see different names. */
function cachePath({ io, connection: { registry, token, tokenSource } }: Cli, kind: KindName): string {
  const folder = io.env.XDG_CACHE_HOME || join(io.home, '.cache')
  const key = createHash('sha256')
    .update(JSON.stringify([registry, token ?? tokenSource ?? null, kind]))
    .digest('hex')
  return join(folder, PRODUCT, `names-${key.slice(0, 32)}.json`)
}

async function readCache(path: string): Promise<readonly string[] | undefined> {
  try {
    const { mtimeMs } = await stat(path)
    return Math.abs(Date.now() - mtimeMs) < CACHE_MS
      ? (JSON.parse(await readFile(path, 'utf8')) as string[])
      : undefined
  } catch {
    return undefined
  }
}

async function namesOf(cli: Cli, kind: KindName): Promise<readonly string[]> {
  const path = cachePath(cli, kind)
  const known = await readCache(path)
  if (known) return known
  const { body } = await cli.api.send<readonly Records[KindName][]>('GET', KINDS[kind].path, undefined, {
    timeoutMs: TIMEOUT_MS
  })
  const names = body.map(labelOf)
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
  await writePrivateFile(path, JSON.stringify(names))
  return names
}

/** Returns no names if the gateway fails: completion must not print errors. */
async function fetchCandidates(cli: Cli, { kinds }: GatewayNames): Promise<Candidate[]> {
  const lists = await Promise.all(kinds.map((kind) => namesOf(cli, kind).catch(() => [])))
  return lists.flat().map((text) => ({ text, about: '' }))
}

/** Returns names of the catalogue that contain the begun word. */
async function fetchCatalogue(cli: Cli, begun: string): Promise<Candidate[]> {
  const path = withQuery('/api/v0/catalogue', { search: begun, limit: 100 })
  const answer = cli.api.send<CataloguePage>('GET', path, undefined, { timeoutMs: TIMEOUT_MS })
  return answer.then(
    ({ body }) => body.servers.map(({ name, description }) => ({ text: name, about: description })),
    () => []
  )
}

async function candidatesOf(cli: Cli, candidates: Exclude<Candidates, { files: true }>, begun: string) {
  if ('kinds' in candidates) return fetchCandidates(cli, candidates)
  return 'catalogue' in candidates ? fetchCatalogue(cli, begun) : candidates.words
}

/** False for upstream text with control characters or line separators, which a shell or terminal could interpret. */
const isPlain = (text: string) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
/** Escapes a candidate for bash, which inserts it verbatim. */
const forBash = (text: string) => text.replace(/[^\p{L}\p{N}_@%+=:,./-]/gu, String.raw`\$&`)

/**
 * Runs `towpath __complete SHELL -- WORDS…` for the last word: prints one candidate per line, with its description
 * after a tab.
 */
export const complete: Action = async (given, [shell = '', ...line]) => {
  const { candidates, registry } = completionAt(createInertProgram(), line)
  if ('files' in candidates) return given.out(FILES)
  const cli = registry === undefined ? given : await createCli(given.io, { registry, quiet: true })
  const begun = line.at(-1) ?? ''
  const found = await candidatesOf(cli, candidates, begun)
  const fitting = found.filter(({ text }) => text.startsWith(begun) && isPlain(text))
  const shown = fitting.map(({ text, about }) => {
    if (shell === 'bash') return forBash(text)
    return about === '' ? text : `${text}\t${about}`
  })
  cli.out(shown.join('\n'))
}
