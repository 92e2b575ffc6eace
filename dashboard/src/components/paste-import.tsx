import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { ImportedServer, ImportView } from '../../../src/schemas/dashboard/import.ts'
import { ApiError, change, path } from '../api.ts'
import { useApp } from '../app-context.ts'
import { plural, sentence } from '../format.ts'
import { link } from '../router.ts'
import { Shape } from './icons.tsx'
import { Shown } from './shown.tsx'
import { SignIn } from './sign-in.tsx'
import { Status } from './status.tsx'
import { Table } from './table.tsx'

const placeholder = `{
  "mcpServers": {
    "github": { "url": "https://api.githubcopilot.com/mcp", "headers": { "Authorization": "Bearer …" } },
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"] }
  }
}`

const importing = (dryRun: boolean, body: object) =>
  change<ImportView>('POST', `${path('servers', 'import')}${dryRun ? '?dry_run=true' : ''}`, body)

const target = ({ config_summary: config }: ImportedServer): string =>
  config?.target ??
  [config?.command, config?.argument_count ? `(${plural(config.argument_count, 'argument')})` : '']
    .filter(Boolean)
    .join(' ')

type Result = NonNullable<ImportedServer['result']>

function ResultState({ server, busy }: { server: ImportedServer; busy: boolean }) {
  if (busy) return <Status tone="warn" word="Connecting" />
  const { result } = server
  if (result === undefined) return null
  const states: Readonly<Record<Result['outcome'], preact.ComponentChildren>> = {
    added: <Status tone="ok" word={`Added, ${plural(result.tool_count ?? 0, 'tool')}`} />,
    replaced: <Status tone="ok" word={`Replaced, ${plural(result.tool_count ?? 0, 'tool')}`} />,
    sign_in_needed: <Status tone="warn" word="Sign-in needed" />,
    failed: <Status tone="err" word="Failed" />,
    skipped: <Status tone="off" word="Skipped" />
  }
  return (
    <>
      {states[result.outcome]}
      {result.error && (
        <span class="err blk">
          <Shown text={sentence(result.error)} />
        </span>
      )}
      {result.tools && result.tools.length > 0 && (
        <span class="help blk">
          <Shown text={result.tools.slice(0, 8).join(', ')} />
          {result.tools.length > 8 && ' …'}
        </span>
      )}
    </>
  )
}

const Remarks = ({ server: { problems, notes, ignored, exists } }: { server: ImportedServer }) => (
  <>
    {problems.map((problem) => (
      <span class="err blk" key={problem}>
        <Shown text={sentence(problem)} />
      </span>
    ))}
    {exists && <span class="help blk">A server of this name is registered.</span>}
    {notes.map((note) => (
      <span class="help blk" key={note}>
        <Shown text={sentence(note)} />
      </span>
    ))}
    {ignored.length > 0 && (
      <span class="help blk">
        Ignored: <Shown text={ignored.join(', ')} />
      </span>
    )}
  </>
)

interface RowProps {
  readonly server: ImportedServer
  readonly chosen: boolean
  readonly busy: boolean
  readonly onChoose: (chosen: boolean) => void
}

const Row = ({ server, chosen, busy, onChoose }: RowProps) => (
  <tr>
    <td>
      <label class="hit">
        <input
          type="checkbox"
          class="cb"
          aria-label={`Add ${server.name}`}
          disabled={server.problems.length > 0 || server.result?.outcome === 'added'}
          checked={chosen}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      </label>
    </td>
    <th scope="row">
      {server.result?.outcome === 'added' || server.result?.outcome === 'replaced' ? (
        <a class="name" href={link('server', server.name)}>
          {server.name}
        </a>
      ) : (
        <span class="name">{server.name}</span>
      )}
    </th>
    <td class="opt2">{server.transport && <span class="tag">{server.transport}</span>}</td>
    <td class="opt">
      <span class="ep" title={target(server)}>
        <Shown text={target(server)} />
      </span>
    </td>
    <td class="wrap">
      {server.result || busy ? <ResultState server={server} busy={busy} /> : <Remarks server={server} />}
    </td>
  </tr>
)

interface NeedInputProps {
  readonly id: string
  readonly isSecret: boolean
  readonly value: string
  readonly onInput: (value: string) => void
}

const NeedInput = ({ id, isSecret, value, onInput }: NeedInputProps) => {
  const shared = {
    class: 'in mono',
    id,
    autocomplete: 'off',
    value,
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => onInput(event.currentTarget.value)
  }
  return isSecret ? <input type="password" {...shared} /> : <input type="text" {...shared} />
}

/** Values that the configuration leaves to whoever takes it over. */
function Needs({
  servers,
  values,
  onChange
}: {
  readonly servers: readonly ImportedServer[]
  readonly values: Readonly<Record<string, string>>
  readonly onChange: (name: string, value: string) => void
}) {
  const id = useId()
  const needs = [...new Map(servers.flatMap((server) => server.needs).map((need) => [need.name, need])).values()]
  if (needs.length === 0) return null
  return (
    <fieldset class="fields">
      <legend class="lbl">Values that the configuration asks for</legend>
      {needs.map((need) => (
        <div class="field" key={need.name}>
          <label for={`${id}-${need.name}`}>
            <code>{need.name}</code>
            {need.has_default && <span class="req">has a default</span>}
          </label>
          <NeedInput
            id={`${id}-${need.name}`}
            isSecret={need.is_secret}
            value={values[need.name] ?? ''}
            onInput={(value) => onChange(need.name, value)}
          />
          {need.description && (
            <span class="help">
              <Shown text={need.description} />
            </span>
          )}
        </div>
      ))}
    </fieldset>
  )
}

/** Takes the configuration of any client, shows what it says, then adds what is chosen, each server by itself. */
export function PasteImport() {
  const { store } = useApp()
  const id = useId()
  const text = useSignal('')
  const preview = useSignal<readonly ImportedServer[] | undefined>(undefined)
  const chosen = useSignal<ReadonlySet<string>>(new Set())
  const values = useSignal<Readonly<Record<string, string>>>({})
  const busy = useSignal<ReadonlySet<string>>(new Set())
  const failure = useSignal('')

  const look = async () => {
    failure.value = ''
    try {
      const { servers } = await importing(true, { configuration: text.value })
      preview.value = servers
      chosen.value = new Set(
        servers.filter(({ problems, exists }) => problems.length === 0 && !exists).map(({ name }) => name)
      )
    } catch (error) {
      preview.value = undefined
      failure.value = (error as ApiError).message
    }
  }
  const put = (name: string, changes: Partial<ImportedServer>) => {
    preview.value = preview.value!.map((server) => (server.name === name ? { ...server, ...changes } : server))
  }
  const addOne = async (server: ImportedServer) => {
    const { name, exists } = server
    busy.value = new Set([...busy.value, name])
    try {
      const given = Object.fromEntries(Object.entries(values.value).filter(([, value]) => value !== ''))
      const body = { configuration: text.value, names: [name], values: given, ...(exists && { replace: true }) }
      const { servers } = await importing(false, body)
      const result = servers.find((each) => each.name === name)?.result
      put(name, { result: result ?? { outcome: 'failed', error: 'The gateway said nothing about it' } })
    } catch (error) {
      put(name, { result: { outcome: 'failed', error: (error as ApiError).message } })
    }
    busy.value = new Set([...busy.value].filter((each) => each !== name))
  }
  const add = async () => {
    const due = preview.value!.filter(({ name }) => chosen.value.has(name))
    chosen.value = new Set()
    await Promise.all(due.map(addOne))
    void store.refresh()
  }
  const choose = (name: string, isChosen: boolean) => {
    const others = [...chosen.value].filter((each) => each !== name)
    chosen.value = new Set(isChosen ? [...others, name] : others)
  }
  const waiting = (preview.value ?? []).flatMap(({ name, result }) =>
    result?.authorization_required ? [{ name, required: result.authorization_required }] : []
  )
  return (
    <div class="stack">
      <div class="field">
        <label for={id}>Configuration</label>
        <textarea
          class="in"
          id={id}
          rows={10}
          spellcheck={false}
          placeholder={placeholder}
          aria-describedby={`${id}-help`}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value
            preview.value = undefined
          }}
          onPaste={() => setTimeout(() => void look())}
        />
        <span class="help" id={`${id}-help`}>
          An <code>mcp.json</code> of Claude, Cursor, VS Code or Windsurf, a <code>server.json</code> of the MCP
          registry, or a registration of Towpath or MCPJungle. Comments and trailing commas are fine.
        </span>
      </div>
      {failure.value && (
        <p class="err" role="alert">
          <Shown text={sentence(failure.value)} />
        </p>
      )}
      {preview.value === undefined ? (
        <div class="actions">
          <button type="button" class="btn primary" disabled={text.value.trim() === ''} onClick={() => void look()}>
            Preview
          </button>
        </div>
      ) : (
        <>
          <Table label="Servers in the configuration">
            <thead>
              <tr>
                <th scope="col">
                  <span class="vh">Add</span>
                </th>
                <th scope="col">Name</th>
                <th scope="col" class="opt2">
                  Transport
                </th>
                <th scope="col" class="opt">
                  Target
                </th>
                <th scope="col">Remarks</th>
              </tr>
            </thead>
            <tbody>
              {preview.value.map((server) => (
                <Row
                  key={server.name}
                  server={server}
                  chosen={chosen.value.has(server.name)}
                  busy={busy.value.has(server.name)}
                  onChoose={(isChosen) => choose(server.name, isChosen)}
                />
              ))}
            </tbody>
          </Table>
          <Needs
            servers={preview.value.filter(({ name }) => chosen.value.has(name))}
            values={values.value}
            onChange={(name, value) => (values.value = { ...values.value, [name]: value })}
          />
          <div class="actions">
            <button
              type="button"
              class="btn primary"
              disabled={chosen.value.size === 0 || busy.value.size > 0}
              onClick={() => void add()}
            >
              {chosen.value.size > 0 ? `Add ${plural(chosen.value.size, 'server')}` : 'Add servers'}
            </button>
            {preview.value.some(({ exists, name }) => exists && chosen.value.has(name)) && (
              <span class="st warn">
                <Shape tone="warn" />
                Servers of the same names are replaced
              </span>
            )}
          </div>
          {waiting.map(({ name, required }) => (
            <SignIn
              key={required.session_id}
              server={name}
              required={required}
              onRestart={() => void addOne(preview.value!.find((server) => server.name === name)!)}
              onDone={() => put(name, { result: { outcome: 'added' } })}
            />
          ))}
        </>
      )}
    </div>
  )
}
