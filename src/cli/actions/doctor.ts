import type { Check } from '../../schemas/check.ts'
import { checkClient } from '../checks/client.ts'
import { checkGateway } from '../checks/gateway.ts'
import { EXIT } from '../io/failure.ts'
import type { Column } from '../output/records.ts'
import type { Action } from '../io/runner.ts'
import { rowsView } from '../output/views.ts'

const statusColours = { pass: 'green', warn: 'yellow', fail: 'red' } as const
const columns: readonly Column<Check>[] = [
  {
    head: 'status',
    value: ({ status }) => (status === 'fail' ? 'FAIL' : status),
    colour: ({ status }) => statusColours[status]
  },
  { head: 'check', value: ({ id }) => id },
  { head: 'ms', value: ({ ms }) => (ms === undefined ? undefined : String(ms)), isWide: true },
  { head: 'finding', value: ({ title, detail }) => (detail === undefined ? title : `${title}: ${detail}`) }
]

/** Checks that always pass, and tell what people look for. */
const worthTelling = new Set(['data_directory', 'oidc_redirect_uri'])

/** Returns 0 if no check fails; an unreachable gateway and a rejected token have their own codes. */
export const doctor: Action = async (cli) => {
  const client = await checkClient(cli)
  const gateway = client.isReached ? await checkGateway(cli) : { checks: [], isRefused: false }
  const checks = [...client.checks, ...gateway.checks]
  const everything = rowsView(columns, checks, ({ id }) => id)
  const findings = rowsView(
    columns,
    checks.filter(({ status }) => status !== 'pass'),
    ({ id }) => id
  )
  // forty passed checks would hide the one that matters
  await cli.show({ body: { registry: cli.api.registry, checks } }, { ...everything, table: findings.table })
  for (const { id, hint, status } of checks)
    if (hint !== undefined && status !== 'pass') cli.note(`hint: ${id}: ${hint}`)
  for (const { id, title, detail } of checks)
    if (worthTelling.has(id)) cli.note(detail === undefined ? title : `${title} (${detail})`)
  const failed = checks.filter(({ status }) => status === 'fail').length
  const warned = checks.filter(({ status }) => status === 'warn').length
  const passed = `${checks.length - failed - warned} of ${checks.length} checks passed`
  const counts = [failed > 0 ? `${failed} failed` : '', warned > 0 ? `${warned} with a warning` : ''].filter(Boolean)
  cli.note(counts.length === 0 ? `All ${checks.length} checks passed` : `${passed}, ${counts.join(', ')}`)
  if (!client.isReached) return EXIT.unreachable
  if (gateway.isRefused) return EXIT.refused
  return failed === 0 ? EXIT.done : EXIT.failed
}
