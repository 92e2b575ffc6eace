import type { Answer } from './api.ts'
import type { Cli } from './cli.ts'
import { EXIT, Failure } from './failure.ts'
import { KINDS, type KindName } from './kinds.ts'
import { labelOf, type Records } from './records.ts'
import { nearest } from './suggest.ts'

/** Where what does not exist is near to what does, the failure says so. */
export async function suggesting<T>(
  cli: Cli,
  kind: KindName,
  name: string,
  work: Promise<Answer<T>>
): Promise<Answer<T>> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.notFound) throw error
    throw new Failure(error.exitCode, error.message, {
      code: error.code === 'http_404' ? 'not_found' : error.code,
      hint: await hintFor(cli, kind, name),
      cause: error
    })
  }
}

/** What to type instead of a name that does not exist. */
export async function hintFor(cli: Cli, kind: KindName, name: string): Promise<string> {
  const { path, plural } = KINDS[kind]
  const all = `see \`towpath list ${plural}\``
  try {
    const { body } = await cli.api.get<readonly Records[typeof kind][]>(path)
    const near = nearest(name, body.map(labelOf))
    return near === undefined ? all : `did you mean "${near}"?`
  } catch {
    // it is a hint: that there is none must not hide what failed
    return all
  }
}
