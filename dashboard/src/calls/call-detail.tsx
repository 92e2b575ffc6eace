import { withoutServerPrefix } from '../../../src/domain/server-error.ts'
import type { CallEntry } from '../../../src/schemas/call.ts'
import { useRights, useSource } from '../app-context.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { KeyValues, Row } from '../ui/key-values.tsx'
import { AsyncContent } from '../ui/panels.tsx'
import { FailureDetails } from '../ui/failure-details.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Clock } from '../ui/time.tsx'
import { isJsonObject, parseJson, type Json } from '../form/json.ts'
import { storeInput } from '../form/last-input.ts'
import { bytes, duration, sentence } from '../format.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { PhaseBar } from './phase-bar.tsx'
import {
  explanation,
  calledItem,
  callerText,
  endpointText,
  headline,
  isFailed,
  phasesOf,
  phaseText,
  protocolText
} from './call-text.ts'

function DurationFacts({ call }: { call: CallEntry }) {
  const phases = phasesOf(call)
  return (
    <div>
      <PhaseBar phases={phases} />
      <KeyValues>
        {phases.map((phase) => (
          <Row key={phase.id} label={phase.label} bad={phase.isEnd}>
            {phaseText(phase)}
          </Row>
        ))}
        <Row label="In the gateway">{duration(Math.max(0, call.total_ms - call.upstream_ms))}</Row>
        {call.session_mode && <Row label="Session mode">{call.session_mode}</Row>}
        <Row label="Protocol">{protocolText(call)}</Row>
        <Row label="Parameters">{bytes(call.request_bytes)}</Row>
        <Row label="Result">
          {call.outcome === 'ok' || call.outcome === 'tool_error' ? bytes(call.response_bytes) : '—'}
        </Row>
        {call.request_id && (
          <Row label="Request id">
            <code>{call.request_id}</code>
          </Row>
        )}
      </KeyValues>
    </div>
  )
}

const Content = ({ title, text }: { title: string; text: string }) => (
  <>
    <h3>{title}</h3>
    <pre class="code" tabIndex={0} role="group" aria-label={title}>
      <UntrustedText text={text} />
    </pre>
  </>
)

const argumentsOf = (text: string): Json | undefined => {
  try {
    return parseJson(text)
  } catch {
    // long arguments are recorded in part, so they may not parse
    return undefined
  }
}

/** Link to the form of the called item, filled with the recorded arguments. */
function ReplayLink({ call }: { call: CallEntry }) {
  const { kind, server, item } = call
  if (!useRights().call || !server || !item) return null
  if (kind === 'resource') {
    return (
      <a class="btn" href={link('resources', '', { uri: item })}>
        Replay
      </a>
    )
  }
  if (kind !== 'tool' && kind !== 'prompt') return null
  const name = calledItem(call)
  const input = call.arguments === undefined ? undefined : argumentsOf(call.arguments)
  const help = `replay-${call.id}`
  return (
    <>
      <a
        class="btn"
        href={link(kind, name)}
        aria-describedby={input === undefined ? help : undefined}
        onClick={() => isJsonObject(input ?? null) && storeInput(name, input)}
      >
        Replay
      </a>
      {input === undefined && (
        <span class="help" id={help}>
          {call.arguments === undefined ? 'The arguments were not recorded' : 'The arguments were too long to record'}:
          the form opens without them.
        </span>
      )}
    </>
  )
}

const Detail = ({ call }: { call: CallEntry }) => (
  <div class="callx">
    <div>
      <p class="muted narrow">
        <Clock at={call.at} />, {duration(call.total_ms)}, <UntrustedText text={callerText(call)} /> at{' '}
        <code>
          <UntrustedText text={endpointText(call.endpoint)} />
        </code>
      </p>
      <p>
        <strong>{headline(call)}</strong>{' '}
        {call.error && (
          <>
            <UntrustedText text={sentence(withoutServerPrefix(call.error))} />{' '}
          </>
        )}
        {explanation(call)}
      </p>
      <FailureDetails details={{ ...call, stderr: [] }} />
      {call.stderr && <Content title="Last lines of stderr" text={call.stderr} />}
      {call.arguments !== undefined && <Content title="Arguments" text={call.arguments} />}
      {call.result !== undefined && <Content title="Result" text={call.result} />}
      <div class="actions">
        {call.server && (
          <a class={`btn ${isFailed(call) ? 'primary' : ''}`} href={link('server', call.server)}>
            Open server <UntrustedText text={call.server} />
          </a>
        )}
        <CopyButton text={() => JSON.stringify(call, null, 2)}>Copy report</CopyButton>
        <ReplayLink call={call} />
      </div>
    </div>
    <DurationFacts call={call} />
  </div>
)

/** Details of one call. */
export function CallDetail({ id }: { id: string }) {
  const resource = useSource(sources.call(id))
  return (
    <AsyncContent resource={resource} subject="The call" rows={2}>
      {(call) => <Detail call={call} />}
    </AsyncContent>
  )
}
