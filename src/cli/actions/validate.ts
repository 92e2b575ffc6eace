import { checkBody, checkPolicy, kindOf } from '../apply/check.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import { readObjects, type InputObject } from '../io/input.ts'
import { DECLARED, FILE_KINDS, type FileKind } from '../io/kinds.ts'
import type { Action } from '../io/runner.ts'
import { resolveToken } from '../io/secret.ts'
import { splitSwitches } from '../apply/switches.ts'
import { rowsView } from '../output/views.ts'

async function check(cli: Cli, input: InputObject, kind: FileKind): Promise<void> {
  if (kind === 'server') return checkBody(kind, splitSwitches(input).input)
  if (kind === 'policy') return checkPolicy(input)
  if (kind === 'group' || kind === 'team') return checkBody(kind, input)
  checkBody(kind, { ...input, value: await resolveToken(cli, input, true) })
}

const typeOf = (kind: FileKind) => DECLARED[kind].singular

const types = FILE_KINDS.map(typeOf).toSorted().join(', ')

export const validate: Action<{ readonly type?: string }> = async (cli, [path = ''], flags) => {
  const givenKind = FILE_KINDS.find((kind) => typeOf(kind) === flags.type)
  if (flags.type !== undefined && givenKind === undefined) throw usage(`--type must be one of ${types}`)
  const results: { file: string; type: string; name: string }[] = []
  for (const input of await readObjects(cli.io, path)) {
    const kind = givenKind ?? kindOf(input, `pass --type with one of ${types}`)
    await check(cli, input, kind)
    results.push({ file: input.from, type: typeOf(kind), name: String(input.value.name) })
  }
  cli.note(results.length === 1 ? 'valid' : `all ${results.length} are valid`)
  const columns = [
    { head: 'file', value: (row: (typeof results)[number]) => row.file },
    { head: 'type', value: (row: (typeof results)[number]) => row.type },
    { head: 'name', value: (row: (typeof results)[number]) => row.name }
  ]
  await cli.show(
    { body: results },
    rowsView(columns, results, ({ name }) => name)
  )
}
