import { useSignal } from '@preact/signals'
import type { ServerDetails } from '../../../src/schemas/dashboard/servers.ts'
import { change, path, type ApiError } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { count, plural, sentence } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { Confirm } from '../ui/dialog.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'

interface RefreshResult {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

const refreshText = ({ added, removed, changed }: RefreshResult): string =>
  added.length + removed.length + changed.length === 0
    ? 'No changes.'
    : `${[added.length > 0 && `${count(added.length)} new`, removed.length > 0 && `${count(removed.length)} removed`, changed.length > 0 && `${count(changed.length)} changed`].filter(Boolean).join(', ')}.`

/** Reads the server's lists again. */
export function RefreshButton({ name }: { name: string }) {
  const { store } = useApp()
  const busy = useSignal(false)
  const said = useSignal<{ ok: boolean; text: string } | undefined>(undefined)
  const refresh = async () => {
    busy.value = true
    try {
      const route = `/api/v0/servers/${encodeURIComponent(name)}/refresh`
      said.value = { ok: true, text: refreshText(await change<RefreshResult>('POST', route)) }
    } catch (error) {
      said.value = { ok: false, text: sentence((error as ApiError).message) }
    }
    busy.value = false
    void store.refresh()
  }
  return (
    <>
      <button type="button" class="btn" disabled={busy.value} onClick={() => void refresh()}>
        {busy.value ? 'Reading…' : 'Refresh'}
      </button>
      {said.value && (
        <p class={`result ${said.value.ok ? 'good' : 'err'}`} role={said.value.ok ? 'status' : 'alert'}>
          <UntrustedText text={said.value.text} />
        </p>
      )}
    </>
  )
}

/** Returns the groups that include tools of this server. */
function useGroupsOf(name: string): string[] {
  const groups = useSource(sources.groups).data.value?.tool_groups ?? []
  const isOf = (tool: string) => tool.startsWith(`${name}__`)
  return groups
    .filter((group) => group.included_servers.includes(name) || group.included_tools.some(isOf))
    .map((group) => group.name)
}

/** Deletes the server after a confirmation that lists the affected groups. */
export function DeleteButton({ server }: { server: ServerDetails }) {
  const { store, location, notice } = useApp()
  const open = useSignal(false)
  const groups = useGroupsOf(server.name)
  const remove = async () => {
    const { name } = server
    await store.whileDeleting(sources.server(name), () => change('DELETE', path('servers', name)))
    notice.value = `${name} is deleted`
    location.navigate(link('servers'))
    void store.refresh()
  }
  return (
    <>
      <button type="button" class="btn danger" onClick={() => (open.value = true)}>
        Delete
      </button>
      {open.value && (
        <Confirm
          title={`Delete ${server.name}`}
          action="Delete server"
          onConfirm={remove}
          onClose={() => (open.value = false)}
        >
          <p>
            This also removes {plural(server.tool_count, 'tool')} and its stored secrets.{' '}
            {groups.length > 0 && `${plural(groups.length, 'group')} will lose tools: ${groups.join(', ')}.`}
          </p>
        </Confirm>
      )}
    </>
  )
}
