import { backUp, writeClientFile } from '../clients/client-file.ts'
import type { Cli } from '../io/cli.ts'
import { Failure } from '../io/failure.ts'
import type { PlannedFile } from './plan.ts'
import type { FileRow } from './view.ts'

/** Backs up one file and writes its new text. A failure leaves the file as it was and does not stop the others. */
export async function writePlannedFile(cli: Cli, file: PlannedFile, at: Date): Promise<FileRow> {
  const { client, path, before, text, removed, hasToken } = file
  const row = { client, file: path, replaced: removed }
  try {
    const backup = before ? await backUp(before, at) : undefined
    await writeClientFile(path, before, text, hasToken ? 0o600 : undefined)
    return { ...row, outcome: before ? 'changed' : 'created', ...(backup === undefined ? {} : { backup }) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    cli.warn(error.message, error.hint)
    return { ...row, replaced: [], outcome: 'refused', problem: error.message.replace(`${path}: `, '') }
  }
}
