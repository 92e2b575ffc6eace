import type { ServerStatus } from '../../../src/schemas/server-status.ts'
import { useRights } from '../app-context.ts'
import { link } from '../router.ts'

interface ServerNoticeProps {
  readonly item: {
    readonly server: string
    readonly enabled: boolean
    readonly server_enabled: boolean
    readonly server_status: ServerStatus
  }
  /** Kind of item: `tool`, `prompt`, `resource`. */
  readonly itemKind: string
}

/** Reason why the item cannot be used now; nothing if it can. */
export function ServerNotice({ item, itemKind }: ServerNoticeProps) {
  const { server, enabled, server_enabled, server_status } = item
  const { administer } = useRights()
  const open = <a href={link('server', server)}>Open {server}</a>
  if (!server_enabled) {
    return (
      <p class="banner">
        The server {server} is disabled, so this {itemKind} is not served. {open}
      </p>
    )
  }
  if (!enabled)
    return (
      <p class="banner">
        This {itemKind} is disabled.{administer && ' Enable it to use it.'}
      </p>
    )
  if (server_status === 'failing') {
    return (
      <p class="banner warn">
        The server {server} cannot be reached; showing its last known definition. {open}
      </p>
    )
  }
  if (server_status === 'sign_in_needed') {
    return (
      <p class="banner warn">
        The server {server} requires sign-in. {open}
      </p>
    )
  }
  return null
}
