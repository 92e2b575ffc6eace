import { SESSION_MODES } from '../../../src/domain/session-modes.ts'
import type { Transport } from '../../../src/domain/transports.ts'
import type { Problems, ServerForm } from './server-form.ts'
import { Chevron } from '../ui/icons.tsx'
import { Field } from '../ui/field.tsx'
import { PairsField } from '../ui/pairs-field.tsx'
import { SecretField } from '../ui/secret-field.tsx'
import { Segmented } from '../ui/segmented.tsx'

interface ServerFieldsProps {
  readonly form: ServerForm
  readonly problems: Problems
  readonly onChange: (changes: Partial<ServerForm>) => void
  /** True for a registered server, whose name cannot change. */
  readonly named?: boolean
}

const transports = [
  { id: 'streamable_http', label: 'Streamable HTTP' },
  { id: 'stdio', label: 'Command (stdio)' },
  { id: 'sse', label: 'SSE' }
] as const satisfies readonly { id: Transport; label: string }[]

const sessionHelp = {
  stateless: 'Each call gets its own session: no state is shared between callers.',
  stateful: 'Each caller keeps a session until it is idle. For servers that keep state between calls.',
  shared: 'All callers use one session. For servers that keep nothing of anybody: callers are not kept apart there.'
} as const

interface TextProps {
  readonly label: string
  readonly note?: string
  readonly help?: preact.ComponentChildren
  readonly error?: string | undefined
  readonly placeholder?: string
  readonly mono?: boolean
  readonly value: string
  readonly onInput: (value: string) => void
}

const Text = ({ label, note, help, error, placeholder, mono, value, onInput }: TextProps) => (
  <Field label={label} {...(note && { note })} help={help} error={error}>
    {(attributes) => (
      <input
        {...attributes}
        class={`in ${mono ? 'mono' : ''}`}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    )}
  </Field>
)

/** Stored value that is not shown, with a button to replace it. */
const StoredValue = ({ label, text, onReplace }: { label: string; text: string; onReplace: () => void }) => (
  <div class="field wide">
    <span class="lbl">{label}</span>
    <span class="kept">
      <span class="muted">{text}</span>
      <button type="button" class="btn sm" onClick={onReplace}>
        Replace {label.toLowerCase()}
      </button>
    </span>
  </div>
)

const RemoteFields = ({ form, problems, onChange }: ServerFieldsProps) => (
  <>
    {form.url === null ? (
      <StoredValue label="URL" text="Stored; query values are hidden" onReplace={() => onChange({ url: '' })} />
    ) : (
      <Text
        label="URL"
        mono
        placeholder="https://mcp.example.com/mcp"
        error={problems.url}
        value={form.url}
        onInput={(url) => onChange({ url })}
      />
    )}
    <SecretField
      label="Bearer token"
      help="Sent with every request. Leave empty if the server uses sign-in."
      value={form.bearer_token}
      onChange={(bearer_token) => onChange({ bearer_token })}
    />
    <PairsField
      entryName="Header"
      legend="Headers"
      help="Sent with every request. An Authorization header overrides the bearer token."
      pairs={form.headers}
      onChange={(headers) => onChange({ headers })}
    />
  </>
)

const LocalFields = ({ form, problems, onChange }: ServerFieldsProps) => (
  <>
    <Text
      label="Command"
      mono
      placeholder="npx"
      error={problems.command}
      value={form.command}
      onInput={(command) => onChange({ command })}
    />
    {form.args === null ? (
      <StoredValue label="Arguments" text="Stored; not editable as lines" onReplace={() => onChange({ args: '' })} />
    ) : (
      <Field
        label="Arguments"
        help={
          form.args.includes('***')
            ? 'One per line, without quotes. *** stands for a stored secret: leave it, or overwrite it.'
            : 'One per line, without quotes.'
        }
      >
        {(attributes) => (
          <textarea
            {...attributes}
            class="in"
            rows={3}
            spellcheck={false}
            placeholder={'-y\n@modelcontextprotocol/server-filesystem\n/srv'}
            value={form.args ?? ''}
            onInput={(event) => onChange({ args: event.currentTarget.value })}
          />
        )}
      </Field>
    )}
    <PairsField
      entryName="Variable"
      legend="Environment"
      help="Passed to the process, plus PATH, HOME and locale."
      pairs={form.env}
      onChange={(env) => onChange({ env })}
    />
  </>
)

const SignInFields = ({ form, onChange }: ServerFieldsProps) => (
  <details class="json bare wide">
    <summary>
      <Chevron />
      Advanced: use your own OAuth client
    </summary>
    <div class="fields">
      {form.oauth_client_id === null ? (
        <StoredValue
          label="OAuth client id"
          text="Stored, not shown"
          onReplace={() => onChange({ oauth_client_id: '' })}
        />
      ) : (
        <Text
          label="OAuth client id"
          mono
          help="For authorization servers without dynamic client registration."
          value={form.oauth_client_id}
          onInput={(oauth_client_id) => onChange({ oauth_client_id })}
        />
      )}
      <SecretField
        label="OAuth client secret"
        value={form.oauth_client_secret}
        onChange={(oauth_client_secret) => onChange({ oauth_client_secret })}
      />
      <Text
        label="OAuth scopes"
        mono
        help="Separated by spaces. Replaces the scopes that the server requests."
        value={form.oauth_scopes}
        onInput={(oauth_scopes) => onChange({ oauth_scopes })}
      />
      <Text
        label="OAuth issuer"
        mono
        help="Restricts sign-in to this authorization server, for example https://login.example.com."
        value={form.oauth_issuer}
        onInput={(oauth_issuer) => onChange({ oauth_issuer })}
      />
      <label class="check wide">
        <input
          type="checkbox"
          class="cb"
          checked={form.oauth_assume_pkce}
          onChange={(event) => onChange({ oauth_assume_pkce: event.currentTarget.checked })}
        />
        The authorization server supports PKCE with S256 without announcing it
      </label>
    </div>
  </details>
)

/** Fields of a registration; the transport decides which. */
export function ServerFields(props: ServerFieldsProps) {
  const { form, problems, onChange, named } = props
  const { transport, session_mode } = form
  return (
    <div class="fields">
      <div class="field wide">
        <span class="lbl">Transport</span>
        <div>
          <Segmented
            label="Transport"
            options={transports}
            current={transport}
            onSelect={(next) => onChange({ transport: next })}
          />
        </div>
      </div>
      {transport === 'stdio' ? <LocalFields {...props} /> : <RemoteFields {...props} />}
      {!named && (
        <Text
          label="Name"
          mono
          help="Prefix of every tool name: name__tool."
          error={problems.name}
          value={form.name}
          onInput={(name) => onChange({ name })}
        />
      )}
      <Text
        label="Description"
        note="optional"
        value={form.description}
        onInput={(description) => onChange({ description })}
      />
      <Field label="Session mode" help={sessionHelp[session_mode]}>
        {(attributes) => (
          <select
            {...attributes}
            class="in"
            value={session_mode}
            onChange={(event) => onChange({ session_mode: event.currentTarget.value as ServerForm['session_mode'] })}
          >
            {SESSION_MODES.map((mode) => (
              <option key={mode} value={mode}>
                {mode}
              </option>
            ))}
          </select>
        )}
      </Field>
      <label class="check wide">
        <input
          type="checkbox"
          class="cb"
          checked={form.apps}
          onChange={(event) => onChange({ apps: event.currentTarget.checked })}
        />
        Clients may show the interfaces of its tools (MCP Apps)
      </label>
      <label class="check wide">
        <input
          type="checkbox"
          class="cb"
          checked={form.trusted_annotations}
          onChange={(event) => onChange({ trusted_annotations: event.currentTarget.checked })}
        />
        Policies may allow its tools by their annotations, which the server itself writes
      </label>
      {transport === 'streamable_http' && <SignInFields {...props} />}
    </div>
  )
}
