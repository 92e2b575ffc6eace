import type { Cli } from '../io/cli.ts'
import { EXIT, Failure, usage } from '../io/failure.ts'
import { DECLARED } from '../io/kinds.ts'
import { combineExitCodes, isFatal } from '../apply/exit-codes.ts'
import type { Change, Result } from '../apply/plan.ts'
import { planView } from '../apply/plan-view.ts'
import { confirm } from '../io/prompt.ts'
import type { Action } from '../io/runner.ts'
import { checkHeld } from '../apply/pins.ts'
import { planSteps, readPlanContext, type PlanContext, type Step } from '../apply/steps.ts'

interface Flags {
  readonly file: string
  readonly prune?: boolean
  readonly dryRun?: boolean
}

const verbs = { create: 'created', update: 'updated', delete: 'deleted' } as const

/** Runs the steps in order. After a failure the others still run, unless they would fail in the same way. */
async function execute(cli: Cli, steps: readonly Step[]): Promise<{ results: Result[]; failures: Failure[] }> {
  const results: Result[] = []
  const failures: Failure[] = []
  for (const { run, ...change } of steps) {
    const label = `${DECLARED[change.kind].singular} "${change.name}"`
    if (failures.some(isFatal)) {
      results.push({ ...change, outcome: 'skipped' })
      continue
    }
    try {
      await run()
      cli.note(`${verbs[change.action]} ${label}`)
      results.push({ ...change, outcome: 'done' })
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      cli.warn(`${label}: ${error.message}`, error.hint)
      failures.push(error)
      results.push({ ...change, outcome: 'failed', error: error.message })
    }
  }
  return { results, failures }
}

async function confirmDeletions(cli: Cli, steps: readonly Step[]): Promise<boolean> {
  const deletions = steps.filter(({ action }) => action === 'delete')
  if (deletions.length === 0 || cli.assumesYes) return true
  const names = deletions.map(({ kind, name }) => `  ${DECLARED[kind].singular} "${name}"`).join('\n')
  if (!cli.canPrompt) throw usage(`--prune would delete:\n${names}`, 'pass --yes, or check with --dry-run first')
  return confirm(cli.io, `This deletes:\n${names}\nContinue?`)
}

/** Changes the gateway to the state that the files declare; undeclared resources stay, except with `--prune`. */
export const apply: Action<Flags> = async (cli, _args, { file, prune = false, dryRun = false }) => {
  const context = await readPlanContext(cli, file, dryRun)
  const steps = await planSteps(context, prune)
  const unchanged = context.desired.length - steps.filter(({ action }) => action !== 'delete').length
  const show = (results: readonly Result[]) => cli.show(...planView(results, unchanged, dryRun))
  if (dryRun) {
    await show(steps.map(({ run: _run, ...change }) => ({ ...change, outcome: 'planned' })))
    return
  }
  if (!(await confirmDeletions(cli, steps))) {
    cli.note('nothing was changed')
    return
  }
  const { results, failures } = await execute(cli, steps)
  await show(results)
  cli.note(steps.length === 0 ? `no changes: all ${unchanged} match the files` : summary(results, unchanged))
  return combineExitCodes([...failures, ...(await heldFailures(cli, context, failures))])
}

/** Reports what is held of servers whose files have pins, whether or not they have just been changed. */
async function heldFailures(cli: Cli, { desired }: PlanContext, failures: readonly Failure[]): Promise<Failure[]> {
  if (failures.some(isFatal)) return []
  const found: Failure[] = []
  for (const { kind, name, input } of desired) {
    if (kind !== 'server' || input.value.pins === undefined) continue
    try {
      await checkHeld(cli, name)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      // the server may not be there, which was reported before
      if (error.exitCode !== EXIT.held) continue
      cli.warn(`server "${name}": ${error.message}`, error.hint)
      found.push(error)
    }
  }
  return found
}

function summary(results: readonly Result[], unchanged: number): string {
  const count = (action: Change['action']) =>
    results.filter((result) => result.action === action && result.outcome === 'done').length
  const failed = results.filter(({ outcome }) => outcome !== 'done').length
  const rest = failed > 0 ? `, ${failed} failed or skipped` : ''
  return `${count('create')} created, ${count('update')} updated, ${count('delete')} deleted, ${unchanged} unchanged${rest}`
}
