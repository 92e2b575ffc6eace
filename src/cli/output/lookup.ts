import type { ApiResponse } from '../io/api.ts'
import type { Cli } from '../io/cli.ts'
import { EXIT, Failure } from '../io/failure.ts'
import { KINDS, type KindName } from '../io/kinds.ts'
import { labelOf, type Records } from './records.ts'
import { nearest } from './suggest.ts'

/** Adds a suggestion of a similar name to a not-found Failure. */
export async function withSuggestion<T>(
  cli: Cli,
  kind: KindName,
  name: string,
  work: Promise<ApiResponse<T>>
): Promise<ApiResponse<T>> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Failure) || error.exitCode !== EXIT.notFound) throw error
    throw new Failure(error.exitCode, error.message, {
      code: error.code === 'http_404' ? 'not_found' : error.code,
      hint: await suggestName(cli, kind, name),
      cause: error
    })
  }
}

/** Returns a hint: a similar existing name, or the command that lists all names. */
export async function suggestName(cli: Cli, kind: KindName, name: string): Promise<string> {
  const { path, plural } = KINDS[kind]
  const all = `see \`towpath list ${plural}\``
  try {
    const { body } = await cli.api.get<readonly Records[typeof kind][]>(path)
    const suggestion = nearest(name, body.map(labelOf))
    return suggestion === undefined ? all : `did you mean "${suggestion}"?`
  } catch {
    // a failed look-up must not hide the original failure
    return all
  }
}
