import { checkBody, FILED, kindOf, type Filed } from '../check.ts'
import type { Cli } from '../cli.ts'
import { usage } from '../failure.ts'
import { readObjects, type Given } from '../input.ts'
import { KINDS } from '../kinds.ts'
import type { Action } from '../runner.ts'
import { withToken } from '../secret.ts'
import { takeSwitches } from '../switches.ts'
import { rowsView } from '../views.ts'

async function check(cli: Cli, given: Given, kind: Filed): Promise<void> {
  if (kind === 'server') return checkBody(kind, takeSwitches(given).given)
  if (kind === 'group') return checkBody(kind, given)
  checkBody(kind, { ...given, value: await withToken(cli, given, true) })
}

const typeOf = (kind: Filed) => KINDS[kind].singular

export const validate: Action<{ readonly type?: string }> = async (cli, [path = ''], flags) => {
  const wanted = FILED.find((kind) => typeOf(kind) === flags.type)
  if (flags.type !== undefined && wanted === undefined) throw usage('--type takes server, group, mcp-client or user')
  const found: { file: string; type: string; name: string }[] = []
  for (const given of await readObjects(cli.world, path)) {
    const kind = wanted ?? kindOf(given, 'give --type server, group, mcp-client or user')
    await check(cli, given, kind)
    found.push({ file: given.from, type: typeOf(kind), name: String(given.value.name) })
  }
  cli.note(`${found.length === 1 ? 'it is' : 'they are'} valid`)
  const columns = [
    { head: 'file', value: (row: (typeof found)[number]) => row.file },
    { head: 'type', value: (row: (typeof found)[number]) => row.type },
    { head: 'name', value: (row: (typeof found)[number]) => row.name }
  ]
  await cli.show(
    { body: found },
    rowsView(columns, found, ({ name }) => name)
  )
}
