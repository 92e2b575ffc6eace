import { Fragment } from 'preact'
import type { CallEntry } from '../../../src/schemas/call.ts'
import { useSource } from '../app-context.ts'
import { isJsonObject, parseJson, type Json } from '../form/json.ts'
import { keepInput } from '../form/last-input.ts'
import { bytes, count, duration, sentence } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { CopyButton } from './copy-button.tsx'
import { Chevron } from './icons.tsx'
import { Loaded } from './panels.tsx'
import { QualifiedName, Shown } from './shown.tsx'
import { Outcome } from './status.tsx'
import { Table } from './table.tsx'
import { Clock } from './time.tsx'

const COLUMNS = 7

/** What was called: the qualified name of a tool or prompt, or a URI. */
export const calledItem = ({ kind, server, item }: CallEntry): string => {
  if (item === undefined) return server ?? '—'
  return kind === 'resource' || server === undefined ? item : `${server}__${item}`
}

/** A group's endpoint by the group's name. */
const endpointText = (endpoint: string): string => /^\/v0\/groups\/([^/]+)\//.exec(endpoint)?.[1] ?? endpoint

const explanations: Readonly<Record<CallEntry['outcome'], string>> = {
  ok: 'The server answered.',
  tool_error: 'The tool itself says that it failed. What it says is not kept.',
  failed: 'The call could not be carried out. It was not repeated.',
  timeout: 'The server did not answer in time. The call was not repeated.',
  cancelled: 'The client gave the call up before it was answered.',
  refused: 'Towpath did not pass the call on.'
}

const eras: Readonly<Record<CallEntry['via'], string>> = {
  rest: 'REST',
  legacy: 'MCP, up to 2025-11-25',
  modern: 'MCP, 2026-07-28'
}

const Row = ({ label, children }: { label: string; children: preact.ComponentChildren }) => (
  <div>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
)

const Measures = ({ call }: { call: CallEntry }) => (
  <dl class="kv">
    <Row label="Took">{duration(call.total_ms)}</Row>
    <Row label="Of it the server">{duration(call.upstream_ms)}</Row>
    <Row label="Of it the gateway">{duration(Math.max(0, call.total_ms - call.upstream_ms))}</Row>
    <Row label="Parameters">{bytes(call.request_bytes)}</Row>
    <Row label="Result">{bytes(call.response_bytes)}</Row>
    <Row label="Protocol">{eras[call.via]}</Row>
    <Row label="Caller">
      <Shown text={call.caller} />
    </Row>
    {call.request_id && (
      <Row label="Request id">
        <code>{call.request_id}</code>
      </Row>
    )}
  </dl>
)

const Content = ({ title, text }: { title: string; text: string }) => (
  <>
    <h3>{title}</h3>
    <pre class="code" tabIndex={0}>
      <Shown text={text} />
    </pre>
  </>
)

const argumentsOf = (text: string): Json | undefined => {
  try {
    return parseJson(text)
  } catch {
    // what is recorded of long ones is cut
    return undefined
  }
}

/** Leads to the form of what was called, with the arguments of the call where they are recorded. */
function Replay({ call }: { call: CallEntry }) {
  const { kind, server, item } = call
  if (!server || !item || (kind !== 'tool' && kind !== 'prompt')) return null
  const name = calledItem(call)
  const input = call.arguments === undefined ? undefined : argumentsOf(call.arguments)
  return (
    <a class="btn" href={link(kind, name)} onClick={() => isJsonObject(input ?? null) && keepInput(name, input)}>
      Replay
    </a>
  )
}

/** Everything that is known of one call. */
export function CallDetail({ id }: { id: string }) {
  const resource = useSource(sources.call(id))
  return (
    <Loaded resource={resource} what="The call" rows={2}>
      {(call) => (
        <div class="callx">
          <div>
            <p>
              <strong>{explanations[call.outcome]}</strong> {call.error && <Shown text={sentence(call.error)} />}
            </p>
            {call.arguments !== undefined && <Content title="Arguments" text={call.arguments} />}
            {call.result !== undefined && <Content title="Result" text={call.result} />}
            <div class="actions">
              {call.server && (
                <a class="btn" href={link('server', call.server)}>
                  Open server <Shown text={call.server} />
                </a>
              )}
              <Replay call={call} />
              <CopyButton text={JSON.stringify(call, null, 2)}>Copy report</CopyButton>
            </div>
          </div>
          <Measures call={call} />
        </div>
      )}
    </Loaded>
  )
}

interface CallTableProps {
  readonly label: string
  readonly calls: readonly CallEntry[]
  /** Id of the row that is open. */
  readonly open: string | undefined
  readonly onToggle: (id: string) => void
}

const isBad = ({ outcome }: CallEntry) => outcome === 'failed' || outcome === 'timeout' || outcome === 'tool_error'

/** Calls, the newest first; a row opens below itself. */
export const CallTable = ({ label, calls, open, onToggle }: CallTableProps) => (
  <Table label={label} kind="calls">
    <thead>
      <tr>
        <th scope="col" class="opt2">
          Time
        </th>
        <th scope="col">Item</th>
        <th scope="col">Outcome</th>
        <th scope="col" class="opt">
          Caller
        </th>
        <th scope="col" class="opt">
          Endpoint
        </th>
        <th scope="col" class="num opt2">
          Took
        </th>
        <th scope="col" class="opt">
          Error
        </th>
      </tr>
    </thead>
    <tbody>
      {calls.map((call) => {
        const isOpen = call.id === open
        return (
          <Fragment key={call.id}>
            <tr class={isOpen ? `open ${isBad(call) ? '' : 'fine'}` : undefined}>
              <td class="num l opt2">
                <Clock at={call.at} />
              </td>
              <th scope="row">
                <button type="button" class="lnk" data-row aria-expanded={isOpen} onClick={() => onToggle(call.id)}>
                  <Chevron />
                  <QualifiedName name={calledItem(call)} />
                </button>
              </th>
              <td>
                <Outcome outcome={call.outcome} />
              </td>
              <td class="opt">
                <Shown text={call.caller} />
              </td>
              <td class="opt">
                <code class="muted">
                  <Shown text={endpointText(call.endpoint)} />
                </code>
              </td>
              <td class="num opt2">
                {count(Math.round(call.total_ms))}
                <span class="muted"> ms</span>
              </td>
              <td class="opt ell">{call.error && <Shown text={call.error} />}</td>
            </tr>
            {isOpen && (
              <tr class={`detail ${isBad(call) ? '' : 'fine'}`}>
                <td colSpan={COLUMNS}>
                  <CallDetail id={call.id} />
                </td>
              </tr>
            )}
          </Fragment>
        )
      })}
    </tbody>
  </Table>
)
