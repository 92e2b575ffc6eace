import { useId } from 'preact/hooks'
import type { ImportedServer } from '../../../src/schemas/dashboard/import.ts'
import { useApp } from '../app-context.ts'
import { plural, sentence } from '../format.ts'
import { isEntryFor, summaryOf, useImport, type Import } from './use-import.ts'
import { Shape } from '../ui/icons.tsx'
import { ImportNeeds } from './import-needs.tsx'
import { ImportRow } from './import-row.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { SignIn } from './sign-in.tsx'
import { Table } from '../ui/table.tsx'
import { TableHead } from '../ui/table-head.tsx'

/** One text of each kind; only one kind is pasted at a time. `stdio`: the gateway starts servers from commands. */
const placeholderFor = (stdio: boolean): string =>
  [
    `{
  "mcpServers": {
    ${
      stdio
        ? '"files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"] }'
        : '"github": { "url": "https://api.githubcopilot.com/mcp" }'
    }
  }
}`,
    ...(stdio ? ['API_KEY=$API_KEY npx -y @example/mcp-server'] : []),
    'claude mcp add --transport http github https://api.githubcopilot.com/mcp',
    'https://mcp.example.com/mcp'
  ].join('\n  or\n')

/** Import of a pasted client configuration: shows the parsed servers, then adds each chosen one separately. */
export function PasteImport() {
  const pasted = useImport()
  const id = useId()
  const { stdio } = useApp().viewer.value
  const { text, servers, isPreviewing, failure } = pasted
  return (
    <div class="stack">
      <div class="field">
        <label for={id}>Configuration</label>
        <textarea
          class="in"
          id={id}
          rows={servers.value ? 5 : 12}
          spellcheck={false}
          placeholder={placeholderFor(stdio)}
          aria-describedby={`${id}-help`}
          aria-invalid={failure.value ? 'true' : undefined}
          value={text.value}
          onInput={(event) => pasted.paste(event.currentTarget.value)}
          onPaste={() => setTimeout(() => void pasted.preview())}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void pasted.preview()
          }}
        />
        <span class="help" id={`${id}-help`}>
          An <code>mcp.json</code> of Claude, Cursor, VS Code, Zed or Windsurf, a <code>server.json</code> of the MCP
          registry, a registration, a URL, a command line such as{' '}
          {stdio && (
            <>
              <code>npx -y …</code> or{' '}
            </>
          )}
          <code>claude mcp add …</code>, or an install link of Cursor or VS Code.{' '}
          {!stdio && 'This gateway adds servers by URL, and starts none from commands. '}
          Nothing is executed to read it.
        </span>
      </div>
      {failure.value && (
        <p class="err" role="alert">
          <UntrustedText text={sentence(failure.value)} />
        </p>
      )}
      {servers.value === undefined ? (
        <div class="actions">
          <button
            type="button"
            class="btn primary"
            disabled={text.value.trim() === '' || isPreviewing.value}
            onClick={() => void pasted.preview()}
          >
            {isPreviewing.value ? 'Reading…' : 'Preview'}
          </button>
        </div>
      ) : (
        <Preview pasted={pasted} />
      )}
    </div>
  )
}

function Preview({ pasted }: { pasted: Import }) {
  const { chosen, values, progress } = pasted
  const servers = pasted.servers.value ?? []
  const isTaken = (server: ImportedServer) => isEntryFor(server, server.name)
  const isReplacing = servers.some(({ exists, name }) => exists && chosen.value.has(name))
  const waiting = servers.flatMap(({ name, result }) =>
    result?.authorization_required ? [{ name, required: result.authorization_required }] : []
  )
  return (
    <>
      <Table label="Servers in the configuration">
        <TableHead columns={[['Add', 'hidden'], 'Name', ['Transport', 'opt2'], ['Target', 'opt'], 'State']} />
        <tbody>
          {servers.map((server, at) => (
            <ImportRow
              key={at}
              server={server}
              chosen={isTaken(server) && chosen.value.has(server.name)}
              progress={isTaken(server) ? progress.value.get(server.name) : undefined}
              onChoose={(isChosen) => pasted.choose(server.name, isChosen)}
            />
          ))}
        </tbody>
      </Table>
      <ImportNeeds
        servers={servers.filter(({ name }) => chosen.value.has(name))}
        values={values.value}
        onChange={pasted.setValue}
      />
      <div class="actions">
        <button
          type="button"
          class="btn primary"
          disabled={chosen.value.size === 0 || progress.value.size > 0}
          onClick={() => void pasted.add()}
        >
          {progress.value.size > 0
            ? `Adding ${plural(progress.value.size, 'server')}…`
            : chosen.value.size > 0
              ? `Add ${plural(chosen.value.size, 'server')}`
              : 'Add servers'}
        </button>
        {isReplacing && (
          <span class="st warn">
            <Shape tone="warn" />
            Replaces servers with the same name
          </span>
        )}
        <span class="muted" role="status">
          {summaryOf(servers)}
        </span>
      </div>
      {waiting.map(({ name, required }) => (
        <SignIn
          key={required.session_id}
          server={name}
          required={required}
          onRestart={() => void pasted.addOne(name)}
          onDone={() => pasted.markAdded(name)}
        />
      ))}
    </>
  )
}
