import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { ImportedServer, ImportView } from '../../../src/schemas/dashboard/import.ts'
import { ApiError, change, path } from '../api.ts'
import { useApp } from '../app-context.ts'
import { plural, sentence } from '../format.ts'
import { Shape } from './icons.tsx'
import { ImportNeeds } from './import-needs.tsx'
import { ImportRow } from './import-row.tsx'
import { Shown } from './shown.tsx'
import { SignIn } from './sign-in.tsx'
import { Table } from './table.tsx'

const placeholder = `{
  "mcpServers": {
    "github": { "url": "https://api.githubcopilot.com/mcp", "headers": { "Authorization": "Bearer …" } },
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"] }
  }
}`

const importing = (dryRun: boolean, body: object) =>
  change<ImportView>('POST', `${path('servers', 'import')}${dryRun ? '?dry_run=true' : ''}`, body)

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
                <ImportRow
                  key={server.name}
                  server={server}
                  chosen={chosen.value.has(server.name)}
                  busy={busy.value.has(server.name)}
                  onChoose={(isChosen) => choose(server.name, isChosen)}
                />
              ))}
            </tbody>
          </Table>
          <ImportNeeds
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
