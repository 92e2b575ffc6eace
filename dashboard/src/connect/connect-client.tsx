import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import {
  CLIENT_TITLES,
  CLIENTS,
  clientSnippets,
  type ClientName,
  type Snippet
} from '../../../src/domain/clients/snippets.ts'
import { useSource } from '../app-context.ts'
import { plural } from '../format.ts'
import * as sources from '../sources.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { Tabs } from '../ui/tabs.tsx'

const copyLabel: Readonly<Record<Snippet['language'], string>> = {
  sh: 'Copy command',
  json: 'Copy JSON',
  toml: 'Copy TOML',
  yaml: 'Copy YAML',
  ts: 'Copy program',
  url: 'Copy link'
}

interface SnippetViewProps {
  readonly client: ClientName
  readonly snippet: Snippet
}

const SnippetView = ({ client, snippet: { title, language, text, file, note } }: SnippetViewProps) => (
  <div class="stack snippet">
    <div class="row">
      <h3>{file ? <code>{title}</code> : title}</h3>
      <span class="actions">
        {language === 'url' && (
          <a class="btn sm" href={text}>
            Open in {CLIENT_TITLES[client]}
          </a>
        )}
        <CopyButton text={text} kind="sm">
          {copyLabel[language]}
        </CopyButton>
      </span>
    </div>
    <pre class="code" tabIndex={0}>
      {text}
    </pre>
    {note && <p class="help">{note}.</p>}
  </div>
)

/** Chosen endpoint and client. `group` is '' for the endpoint with all tools. */
export interface Connection {
  readonly group: string
  readonly client: ClientName
}

interface ConnectClientProps {
  /** Initial choice. */
  readonly start?: Partial<Connection>
  readonly onChoose?: (connection: Connection) => void
  /** Maximum number of configurations shown per client. */
  readonly most?: number
  /** Renders content below, for the chosen group; '' for all tools. */
  readonly children?: (group: string) => preact.ComponentChildren
}

/** Configuration of each client for this gateway, for the global endpoint or a group's. */
export function ConnectClient({ start = {}, onChoose, most = Infinity, children }: ConnectClientProps) {
  const overview = useSource(sources.overview).data.value
  const groups = useSource(sources.groups).data.value?.tool_groups ?? []
  const chosen = useSignal<Connection>({ group: start.group ?? '', client: start.client ?? 'claude-code' })
  const { group, client } = chosen.value
  const choose = (change: Partial<Connection>) => {
    chosen.value = { ...chosen.value, ...change }
    onChoose?.(chosen.value)
  }
  const id = useId()
  const found = groups.find(({ name }) => name === group)
  const url = found?.streamable_http_endpoint ?? overview?.endpoints[0]?.url
  if (!url) return null
  const target = { name: found ? `towpath-${found.name}` : 'towpath', url }
  return (
    <>
      <div class="row">
        <h2>Connect a client</h2>
        <span class="field">
          <label class="vh" for={id}>
            Endpoint
          </label>
          <select class="in" id={id} value={group} onChange={(event) => choose({ group: event.currentTarget.value })}>
            <option value="">All tools, /mcp</option>
            {groups.map(({ name, tool_count }) => (
              <option key={name} value={name}>
                Group: {name}, {plural(tool_count, 'tool')}
              </option>
            ))}
          </select>
        </span>
      </div>
      <Tabs
        label="Client"
        tabs={CLIENTS.map((name) => ({ id: name, label: CLIENT_TITLES[name] }))}
        current={client}
        onSelect={(name) => choose({ client: name })}
      >
        <div class="stack">
          {clientSnippets(client, target)
            .slice(0, most)
            .map((snippet) => (
              <SnippetView key={snippet.title} client={client} snippet={snippet} />
            ))}
        </div>
      </Tabs>
      {children?.(found?.name ?? '')}
    </>
  )
}
