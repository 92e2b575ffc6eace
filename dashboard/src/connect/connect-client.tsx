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
import { mount, TOKEN_VARIABLE } from '../mount.ts'
import { link } from '../router.ts'
import { plural } from '../format.ts'
import * as sources from '../sources.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { Segmented } from '../ui/segmented.tsx'
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

/** How a client proves for whom it acts. Without a console, the gateway takes everybody. */
type Way = 'sign-in' | 'token'

/** Clients that cannot open a browser to sign in. */
const tokenOnly: ReadonlySet<ClientName> = new Set(['claude-desktop', 'curl', 'typescript'])

interface WayChoiceProps {
  readonly client: ClientName
  readonly way: Way
  readonly onSelect: (way: Way) => void
}

/** Choice between signing in, which needs nothing but the URL, and an access token. */
const WayChoice = ({ client, way, onSelect }: WayChoiceProps) => (
  <div class="stack">
    {!tokenOnly.has(client) && (
      <div class="actions">
        <Segmented
          label="How the client signs in"
          options={[
            { id: 'sign-in', label: 'Sign in by URL' },
            { id: 'token', label: 'Access token' }
          ]}
          current={way}
          onSelect={onSelect}
        />
      </div>
    )}
    {way === 'sign-in' ? (
      <p class="help">
        {CLIENT_TITLES[client]} opens a browser where you sign in and let it in. It acts as you, and no token is copied.
      </p>
    ) : (
      <p class="help">
        Make a token of scope <code>mcp</code> on the page <a href={link('me')}>Me</a> and keep it in the variable{' '}
        <code>{TOKEN_VARIABLE}</code>. Whoever has it acts as you.
      </p>
    )}
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
  const wanted = useSignal<Way>('sign-in')
  const way = tokenOnly.has(client) ? 'token' : wanted.value
  const choose = (change: Partial<Connection>) => {
    chosen.value = { ...chosen.value, ...change }
    onChoose?.(chosen.value)
  }
  const id = useId()
  const found = groups.find(({ name }) => name === group)
  const url = found?.streamable_http_endpoint ?? overview?.endpoints[0]?.url
  if (!url) return null
  const target = {
    name: found ? `towpath-${found.name}` : 'towpath',
    url,
    ...(mount.isConsole && way === 'token' ? { tokenVariable: TOKEN_VARIABLE } : {})
  }
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
          {mount.isConsole && <WayChoice client={client} way={way} onSelect={(next) => (wanted.value = next)} />}
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
