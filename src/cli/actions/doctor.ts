import type { Check } from '../../schemas/dashboard/diagnostics.ts'
import { checkClient } from '../checks/client.ts'
import { checkGateway } from '../checks/gateway.ts'
import { EXIT } from '../io/failure.ts'
import type { Column } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { rowsView } from '../output/views.ts'

const columns: readonly Column<Check>[] = [
  { head: 'status', value: ({ status }) => (status === 'fail' ? 'FAIL' : status) },
  { head: 'check', value: ({ id }) => id },
  { head: 'ms', value: ({ ms }) => (ms === undefined ? undefined : String(ms)), isWide: true },
  { head: 'finding', value: ({ title, detail }) => (detail === undefined ? title : `${title}: ${detail}`) }
]

/** Returns 0 if no check fails; an unreachable gateway and a rejected token have their own codes. */
export const doctor: Action = async (cli) => {
  const client = await checkClient(cli)
  const gateway = client.isReached ? await checkGateway(cli) : { checks: [], isRefused: false }
  const checks = [...client.checks, ...gateway.checks]
  await cli.show(
    { body: { registry: cli.api.registry, checks } },
    rowsView(columns, checks, ({ id }) => id)
  )
  for (const { id, hint, status } of checks)
    if (hint !== undefined && status !== 'pass') cli.note(`hint: ${id}: ${hint}`)
  const failed = checks.filter(({ status }) => status === 'fail').length
  cli.note(failed === 0 ? 'All checks passed' : `${failed} of ${checks.length} checks failed`)
  if (!client.isReached) return EXIT.unreachable
  if (gateway.isRefused) return EXIT.refused
  return failed === 0 ? EXIT.done : EXIT.failed
}
