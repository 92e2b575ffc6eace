import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isObject } from '../../src/domain/is-object.ts'
import { cacheFolder, prepareFrom, run } from '../../test/prepared.ts'

/** Parts of the set whose calls are labelled and that have one turn of one user. */
const parts = [
  ...['simple_python', 'simple_java', 'simple_javascript', 'multiple', 'parallel', 'parallel_multiple'],
  ...['live_simple', 'live_multiple', 'live_parallel', 'live_parallel_multiple']
]

/** A tool of the pool. */
export interface Tool {
  readonly name: string
  /** JSON text of its definition, as a server would list it */
  readonly definition: string
}

/** What a user asked for, and the names of the tools that answer it. */
export interface Request {
  readonly query: string
  readonly called: readonly string[]
}

/** Tools without duplicates, and requests. */
export interface FunctionCalls {
  readonly tools: readonly Tool[]
  readonly requests: readonly Request[]
}

interface Row {
  readonly id: string
  readonly question: readonly (readonly { readonly role: string; readonly content: string }[])[]
  readonly function: readonly { readonly name: string; readonly description: string; readonly parameters: unknown }[]
  readonly ground_truth: readonly Readonly<Record<string, unknown>>[]
}

/** Types of the set that JSON Schema calls otherwise. */
const types: Readonly<Record<string, string>> = { dict: 'object', float: 'number', tuple: 'array' }

/** Returns a schema of the set as JSON Schema. */
function toSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSchema)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, each]) => [key, toSchema(each)] as const)
  const { type, ...rest } = Object.fromEntries(entries)
  if (typeof type !== 'string') return type === undefined ? rest : { type, ...rest }
  return type === 'any' ? rest : { type: types[type] ?? type, ...rest }
}

/** Downloads the package once, without what it depends on, and unpacks it. Returns the folder of its data. */
async function dataFolder(): Promise<string> {
  const requirements = fileURLToPath(new URL('requirements.txt', import.meta.url))
  const folder = join(cacheFolder, 'bfcl-eval')
  const failure = await prepareFrom(folder, [requirements], async () => {
    const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '--require-hashes']
    const downloaded = await run('python3', [...pip, '--dest', folder, '-r', requirements])
    if (downloaded !== undefined) return downloaded
    const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'))!
    return run('python3', ['-m', 'zipfile', '-e', join(folder, wheel), folder])
  })
  if (failure !== undefined) throw new Error(`the data cannot be installed: ${failure}`)
  return join(folder, 'bfcl_eval/data')
}

async function rowsOf(file: string): Promise<Row[]> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Row)
}

/**
 * Reads the function-calling set of the PyPI package `bfcl-eval` (Apache-2.0): tools without duplicates of name and
 * description, the last turn of each user, and the functions that answer it.
 */
export async function readFunctionCalls(): Promise<FunctionCalls> {
  const folder = await dataFolder()
  const tools = new Map<string, Tool>()
  const requests: Request[] = []
  for (const part of parts) {
    const answers = await rowsOf(join(folder, 'possible_answer', `BFCL_v4_${part}.json`))
    const calledBy = new Map(
      answers.map(({ id, ground_truth: calls }) => [id, calls.flatMap((call) => Object.keys(call))])
    )
    for (const { id, question, function: offered } of await rowsOf(join(folder, `BFCL_v4_${part}.json`))) {
      for (const { name, description, parameters } of offered) {
        const key = JSON.stringify([name, description])
        if (tools.has(key)) continue
        tools.set(key, { name, definition: JSON.stringify({ name, description, inputSchema: toSchema(parameters) }) })
      }
      const query = question.at(-1)!.findLast(({ role }) => role === 'user')?.content ?? ''
      requests.push({ query, called: [...new Set(calledBy.get(id) ?? [])] })
    }
  }
  return { tools: [...tools.values()], requests }
}
