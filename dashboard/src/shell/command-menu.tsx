import { useSignal } from '@preact/signals'
import { useId, useMemo } from 'preact/hooks'
import { useApp, useSource } from '../app-context.ts'
import { findCommands, type Command } from './commands.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { Dialog } from '../ui/dialog.tsx'
import { pageLinksFor } from './navigation.ts'
import { UntrustedText } from '../ui/untrusted-text.tsx'

const MAX_RESULTS = 12

const keepInView = (option: HTMLElement | null) => option?.scrollIntoView({ block: 'nearest' })

/** Command menu (Ctrl+K): finds pages, servers, groups, tools and global actions by a few letters. */
export function CommandMenu({ onClose }: { onClose: () => void }) {
  const { location, preferences, viewer } = useApp()
  const servers = useSource(sources.servers)
  const tools = useSource(sources.tools)
  const groups = useSource(sources.groups)
  const typed = useSignal('')
  const at = useSignal(0)
  const id = useId()

  const commands = useMemo((): Command[] => {
    const pages = pageLinksFor(viewer.value).map(({ label, href }) => ({ label, kind: 'Page', href }))
    const actions: Command[] = [
      ...(viewer.value.may.administer
        ? [
            { label: 'Add server', kind: 'Action', href: link('new-server') },
            { label: 'New group', kind: 'Action', href: link('new-group') }
          ]
        : []),
      { label: 'Light theme', kind: 'Action', run: () => (preferences.theme.value = 'light') },
      { label: 'Dark theme', kind: 'Action', run: () => (preferences.theme.value = 'dark') },
      { label: 'System theme', kind: 'Action', run: () => (preferences.theme.value = 'system') }
    ]
    const known = servers.data.value?.servers ?? []
    const offered = tools.data.value?.tools ?? []
    const built = groups.data.value?.tool_groups ?? []
    return [
      ...pages,
      ...actions,
      ...known.map(({ name }) => ({ label: name, kind: 'Server', href: link('server', name) })),
      ...built.map(({ name }) => ({ label: name, kind: 'Group', href: link('group', name) })),
      ...offered.map(({ canonical_name: name }) => ({ label: name, kind: 'Tool', href: link('tool', name) }))
    ]
  }, [preferences, viewer.value, servers.data.value, groups.data.value, tools.data.value])

  const isKnown = [servers, tools, groups].every(({ data, error }) => data.value !== undefined || error.value)
  const found = findCommands(commands, typed.value, MAX_RESULTS)
  const current = Math.min(at.value, found.length - 1)
  const run = (command: Command | undefined) => {
    if (!command) return
    onClose()
    command.run?.()
    const { href } = command
    if (href?.startsWith('#')) location.navigate(href)
    else if (href) globalThis.location.assign(href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') run(found[current])
    else if (event.key === 'ArrowDown') at.value = (current + 1) % Math.max(found.length, 1)
    else if (event.key === 'ArrowUp') at.value = (current - 1 + found.length) % Math.max(found.length, 1)
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        class="in"
        type="text"
        role="combobox"
        aria-label="Page, server, group, tool or action"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${current}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={typed.value}
        onInput={(event) => {
          typed.value = event.currentTarget.value
          at.value = 0
        }}
        onKeyDown={onKeyDown}
      />
      <div class="commands">
        <ul role="listbox" id={`${id}-list`} aria-label="Found">
          {found.map((command, index) => (
            <li
              key={`${command.kind} ${command.label}`}
              role="option"
              id={`${id}-${index}`}
              aria-selected={index === current}
              ref={index === current ? keepInView : null}
              onClick={() => run(command)}
            >
              <span>
                <UntrustedText text={command.label} />
              </span>
              <span class="muted">{command.kind}</span>
            </li>
          ))}
        </ul>
        {found.length === 0 && isKnown && <p class="muted">No matches.</p>}
      </div>
    </Dialog>
  )
}
