import { isAdministrator } from '../../domain/access/access.ts'
import { messageFor, type Caller } from '../../catalog/caller.ts'
import type { Flag } from '../../schemas/dashboard/shared.ts'
import type { ServerDetails, ServerView } from '../../schemas/dashboard/servers.ts'

/** Returns a server's view as auditors may read it: without the output of programs. */
function withoutOutput<View extends ServerView>(caller: Caller, view: View): View {
  const { last_stderr: _stderr, last_error: error, save_failure: failure, ...shown } = view
  return {
    ...shown,
    ...(error === undefined ? {} : { last_error: messageFor(caller, error) }),
    ...(failure === undefined ? {} : { save_failure: messageFor(caller, failure) })
  } as View
}

/** Returns a server's view as users may read it: without settings, errors and figures of other people. */
function viewForUsers({ name, description, transport, enabled, status, ...view }: ServerView): ServerView {
  const { tool_count, prompt_count, resource_count, skill_count, updated_at, config_summary } = view
  return {
    ...{ name, transport, enabled, status, tool_count, prompt_count, resource_count, skill_count, updated_at },
    ...(description === undefined ? {} : { description }),
    left_out_count: 0,
    held_count: 0,
    config_summary: { kind: config_summary.kind, session_mode: config_summary.session_mode }
  }
}

/** Returns a server's view as the caller may read it. */
export function serverViewFor(caller: Caller, view: ServerView): ServerView {
  if (isAdministrator(caller)) return view
  return caller.kind === 'user' ? viewForUsers(view) : withoutOutput(caller, view)
}

/** Returns a server's details as the caller may read them. */
export function serverDetailsFor(caller: Caller, details: ServerDetails): ServerDetails {
  if (isAdministrator(caller)) return details
  if (caller.kind !== 'user') return { ...withoutOutput(caller, details), stderr: [] }
  const { registered_at, instructions } = details
  return {
    ...viewForUsers(details),
    ...(instructions === undefined ? {} : { instructions }),
    registered_at,
    left_out: [],
    sessions: 0,
    idle_sessions: 0,
    spare_sessions: 0,
    processes: 0,
    stderr: []
  }
}

/** Members of an item's view that only reviewers of definitions read. */
interface Reviewed {
  readonly flags: Flag[]
  readonly changed_at?: string
}

/** Returns an item's view as the caller may read it: users get no review of its definition. */
export function itemViewFor<View extends Reviewed>(caller: Caller, view: View): View {
  if (caller.kind !== 'user') return view
  const { changed_at: _at, ...shown } = view
  return { ...shown, flags: view.flags.filter((flag) => flag !== 'changed') } as unknown as View
}
