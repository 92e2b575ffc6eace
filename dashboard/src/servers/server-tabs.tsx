import { useSignal } from '@preact/signals'
import type { ServerDetails } from '../../../src/schemas/dashboard/servers.ts'
import { useApp, useRights, useSource } from '../app-context.ts'
import { count } from '../format.ts'
import { link } from '../router.ts'
import type { Viewer } from '../session.ts'
import { formOf } from './server-form.ts'
import * as sources from '../sources.ts'
import { CallTable } from '../calls/call-table.tsx'
import { ItemTable } from './item-rows.tsx'
import { EmptyPanel, AsyncContent } from '../ui/panels.tsx'
import { ServerEditor } from './server-editor.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Tabs } from '../ui/tabs.tsx'

const serverTabs = ['tools', 'prompts', 'resources', 'skills', 'calls', 'settings', 'log'] as const
export type ServerTab = (typeof serverTabs)[number]

/** Returns the tabs of a viewer: settings and the output of programs are for administrators. */
export const tabsFor = ({ administer }: Viewer['may']): readonly ServerTab[] =>
  administer ? serverTabs : serverTabs.filter((id) => id !== 'settings' && id !== 'log')

interface ListTabProps {
  readonly name: string
  /** True if the server has never answered. */
  readonly isUnread: boolean
}

const listTabOf = ({ name, save_failure: failure }: ServerDetails): ListTabProps => ({
  name,
  isUnread: failure !== undefined
})

const emptyText = (items: string, isUnread: boolean): string =>
  isUnread ? `Its ${items} are not known: the server has not answered yet` : `This server offers no ${items}`

function ToolsTab({ name, isUnread }: ListTabProps) {
  const resource = useSource(sources.tools)
  return (
    <AsyncContent resource={resource} subject="The tools">
      {({ tools }) => (
        <ItemTable
          label={`Tools of ${name}`}
          kind="tools"
          empty={emptyText('tools', isUnread)}
          items={tools
            .filter(({ server }) => server === name)
            .map((tool) => ({ ...tool, key: tool.canonical_name, href: link('tool', tool.canonical_name) }))}
        />
      )}
    </AsyncContent>
  )
}

function PromptsTab({ name, isUnread }: ListTabProps) {
  const resource = useSource(sources.prompts)
  return (
    <AsyncContent resource={resource} subject="The prompts">
      {({ prompts }) => (
        <ItemTable
          label={`Prompts of ${name}`}
          kind="prompts"
          empty={emptyText('prompts', isUnread)}
          items={prompts
            .filter(({ server }) => server === name)
            .map((prompt) => ({ ...prompt, key: prompt.canonical_name, href: link('prompt', prompt.canonical_name) }))}
        />
      )}
    </AsyncContent>
  )
}

function ResourcesTab({ name, isUnread }: ListTabProps) {
  const resource = useSource(sources.resources)
  return (
    <AsyncContent resource={resource} subject="The resources">
      {({ resources, templates }) => (
        <ItemTable
          label={`Resources of ${name}`}
          kind="resources"
          empty={emptyText('resources', isUnread)}
          items={[
            ...resources.map((each) => ({ ...each, key: each.uri })),
            ...templates.map((each) => ({ ...each, key: each.uri_template }))
          ]
            .filter(({ server }) => server === name)
            .map((each) => ({ ...each, description: each.description ?? each.key }))}
        />
      )}
    </AsyncContent>
  )
}

/** Each skill leads to the reader of its SKILL.md, which shows it as text. */
function SkillsTab({ name, isUnread }: ListTabProps) {
  const resource = useSource(sources.skills)
  return (
    <AsyncContent resource={resource} subject="The skills">
      {({ skills }) => (
        <ItemTable
          label={`Skills of ${name}`}
          kind="skills"
          empty={emptyText('skills', isUnread)}
          items={skills
            .filter(({ server }) => server === name)
            .map((skill) => ({ ...skill, key: skill.uri, href: link('resources', '', { uri: skill.uri }) }))}
        />
      )}
    </AsyncContent>
  )
}

function CallsTab({ name }: { name: string }) {
  const resource = useSource(sources.calls({ server: name, limit: 50 }))
  const open = useSignal<string | undefined>(undefined)
  return (
    <AsyncContent resource={resource} subject="The calls">
      {({ calls }) =>
        calls.length === 0 ? (
          <EmptyPanel title="No calls to this server yet" />
        ) : (
          <>
            <CallTable
              label={`Calls to ${name}`}
              calls={calls}
              open={open.value}
              onToggle={(id) => (open.value = open.value === id ? undefined : id)}
            />
            <p class="more">
              <a href={link('calls', '', { server: name })}>All calls to {name}</a>
            </p>
          </>
        )
      }
    </AsyncContent>
  )
}

const LogTab = ({ server }: { server: ServerDetails }) =>
  server.stderr.length === 0 ? (
    <EmptyPanel
      title={server.config_summary.kind === 'stdio' ? 'No output on stderr' : 'Only stdio servers have a log here'}
    />
  ) : (
    <pre class="code log" tabIndex={0} aria-label="Last lines of stderr" role="group">
      <UntrustedText text={server.stderr.join('\n')} />
    </pre>
  )

const labels: Readonly<Record<ServerTab, (server: ServerDetails) => readonly [word: string, count?: number]>> = {
  tools: ({ tool_count }) => ['Tools', tool_count],
  prompts: ({ prompt_count }) => ['Prompts', prompt_count],
  resources: ({ resource_count }) => ['Resources', resource_count],
  skills: ({ skill_count }) => ['Skills', skill_count],
  calls: () => ['Calls'],
  settings: () => ['Settings'],
  log: () => ['Log']
}

const contents: Readonly<Record<ServerTab, (server: ServerDetails) => preact.ComponentChildren>> = {
  tools: (server) => <ToolsTab {...listTabOf(server)} />,
  prompts: (server) => <PromptsTab {...listTabOf(server)} />,
  resources: (server) => <ResourcesTab {...listTabOf(server)} />,
  skills: (server) => <SkillsTab {...listTabOf(server)} />,
  calls: ({ name }) => <CallsTab name={name} />,
  settings: (server) => <ServerEditor initial={formOf(server)} name={server.name} />,
  log: (server) => <LogTab server={server} />
}

/** Tabs of a server: items, calls and stderr. */
export function ServerTabs({ server, current }: { server: ServerDetails; current: ServerTab }) {
  const { location } = useApp()
  const tabs = tabsFor(useRights())
  const label = (id: ServerTab) => {
    const [word, number] = labels[id](server)
    return (
      <>
        {word}
        {number ? <span class="cnt"> {count(number)}</span> : null}
      </>
    )
  }
  return (
    <section class="panel" aria-label="Server details">
      <Tabs
        label="Server views"
        tabs={tabs.map((id) => ({ id, label: label(id) }))}
        current={current}
        onSelect={(tab) => location.setQuery({ tab })}
      >
        {contents[current](server)}
      </Tabs>
    </section>
  )
}
