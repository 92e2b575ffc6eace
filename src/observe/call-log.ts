import { MODERN_VERSION } from '../domain/mcp-constants.ts'
import { createRateLimiter } from '../domain/rates.ts'
import { isPolicyScope } from '../domain/access/access.ts'
import { maskArgumentsNamed } from '../domain/secrets/locked-secrets.ts'
import { maskSecrets, maskSecretText } from '../domain/secrets/redaction.ts'
import { escapeText } from '../domain/text/text.ts'
import { IMPLIED_REVISION, defaultValues, type CallRow } from '../registry/logs/calls.ts'
import { createBatchScheduler } from '../lib/batch-scheduler.ts'
import type { CallObservation, Observer } from './observation.ts'

/** Characters of a text column: texts may come from clients or upstreams and are cut off and escaped. */
const MAX_TEXT = 200
/** Characters of what a tool says about its own failure. */
const MAX_TOOL_ERROR = 300
const MAX_CONTENT = 4_096
const MAX_LINES = 20
/** Length up to which contents are parsed and logged; parsing longer ones costs more than their beginning is worth. */
const MAX_READ = 65_536
/** Rows that may wait for the database with contents: an outage must not exhaust memory. */
const MAX_QUEUED_CONTENTS = 1_000
/** Rows with contents in a second: reading contents takes longer than all else of a row. */
const MAX_CONTENTS_PER_S = 200

/** Cuts and escapes a text. The copy lets V8 free the original string. */
const truncated = (text: string, max: number) =>
  text.length <= max ? escapeText(text, max) : Buffer.from(escapeText(text, max)).toString()

/** Length of an error that is read: more than is kept, so that no secret is cut before it is masked. */
const MAX_ERROR_READ = 4_096

/** Returns an error of a server without secrets, cut off and escaped. */
const errorText = (error: string, redact: (text: string) => string) =>
  truncated(maskSecretText(redact(error.slice(0, MAX_ERROR_READ))), MAX_TEXT)

const rounded = (ms: number) => Math.round(ms * 1_000) / 1_000

/** Row to which contents are added. Copies would fill the old generation of a busy gateway. */
type OpenRow = { -readonly [K in keyof CallRow]: CallRow[K] }

const unlessCommon = <T>(value: T, common: T) => (value === common ? undefined : value)
const whole = (ms: number | undefined) => (ms === undefined ? undefined : Math.round(ms))

/** Returns the last lines of a failed call's stderr, each cut off and escaped. */
function tailOf({ outcome, stderr, redact }: CallObservation): string | undefined {
  if (stderr === '' || (outcome !== 'failed' && outcome !== 'timeout')) return undefined
  const lines = redact(stderr)
    .split('\n')
    .filter((line) => line.trim() !== '')
  return lines
    .slice(-MAX_LINES)
    .map((line) => escapeText(line, MAX_TEXT))
    .join('\n')
}

/** Returns the scopes that policies can require. Most callers have none. */
function policyScopesOf({ scopes }: CallObservation['caller']): string | undefined {
  const own = scopes?.filter(isPolicyScope)
  return own && own.length > 0 ? own.join(' ') : undefined
}

/** True for outcomes that a held definition can cause. */
const mayBeHeld = ({ outcome }: CallObservation) => outcome !== 'ok' && outcome !== 'task' && outcome !== 'cancelled'

/**
 * Builds a call's row. Columns with their usual value, and waits that did not happen, stay NULL
 * (`migrations/0009_call_stages.ts`).
 */
function rowOf(call: CallObservation, heldSince: CallLogOptions['heldSince']): OpenRow {
  const { caller, result, item, error, waits, serverVersion } = call
  const spoken = call.via === 'modern' ? MODERN_VERSION : call.clientVersion
  return {
    at: call.startedAt,
    kind: unlessCommon(call.kind, defaultValues.kind),
    caller_kind: unlessCommon(caller.kind, defaultValues.caller_kind),
    caller: unlessCommon(caller.name, defaultValues.caller),
    client: call.client,
    oauth_client: caller.oauthClient,
    scopes: policyScopesOf(caller),
    endpoint: unlessCommon(call.endpoint, defaultValues.endpoint),
    via: call.via,
    client_protocol: call.via === 'modern' ? unlessCommon(spoken, IMPLIED_REVISION) : spoken,
    server: call.server,
    server_protocol: serverVersion === spoken ? undefined : serverVersion,
    session_mode: call.mode === 'stateless' ? undefined : call.mode,
    item: item === undefined ? undefined : truncated(item, MAX_TEXT),
    outcome: unlessCommon(call.outcome, defaultValues.outcome),
    total_ms: rounded(call.totalMs),
    upstream_ms: rounded(call.upstreamMs),
    queue_ms: whole(waits?.queue),
    start_ms: whole(waits?.start),
    initialize_ms: whole(waits?.initialize),
    ended_in: call.endedIn,
    request_bytes: Buffer.byteLength(call.params),
    response_bytes: result ? result.length : 0,
    error: error === undefined ? undefined : errorText(error, call.redact),
    request_id: call.requestId,
    held_since: mayBeHeld(call) ? heldSince(call) : undefined,
    arguments: undefined,
    result: undefined,
    stderr: undefined
  }
}

function contentOf(
  json: string,
  redact: (text: string) => string,
  secretNames: readonly string[] = []
): string | undefined {
  if (json.length > MAX_READ) return undefined
  try {
    const shown = maskSecrets(maskArgumentsNamed(JSON.parse(json), secretNames))
    return truncated(redact(JSON.stringify(shown)), MAX_CONTENT)
  } catch {
    return undefined
  }
}

function argumentsOf({ params, redact, refusedArguments, secretArguments }: CallObservation): string | undefined {
  if (refusedArguments !== undefined) return contentOf(refusedArguments, redact, secretArguments)
  if (params === '' || params.length > MAX_READ) return undefined
  const { arguments: given } = JSON.parse(`{${params}}`) as { arguments?: unknown }
  return given === undefined ? undefined : contentOf(JSON.stringify(given), redact, secretArguments)
}

function addContents(row: OpenRow, call: CallObservation): void {
  const { result, redact } = call
  row.arguments = argumentsOf(call)
  if (result && result.length <= MAX_READ) row.result = contentOf(result.toString(), redact)
}

/** Queue of rows, which are stored in the background. */
interface CallRowSink {
  record(row: CallRow): void
  readonly queued: number
}

/** Returns the first text of a tool's result; undefined if there is none. */
function firstText(json: string): string | undefined {
  try {
    const { content } = JSON.parse(json) as { content?: unknown }
    const texts = Array.isArray(content) ? content.map((block) => (block as { text?: unknown } | null)?.text) : []
    return texts.find((text) => typeof text === 'string')
  } catch {
    return undefined
  }
}

/** Returns what a tool says about its own failure, in one line, without secrets. */
function toolErrorOf({ outcome, result, redact }: CallObservation): string | undefined {
  if (outcome !== 'tool_error' || !result || result.length > MAX_READ) return undefined
  const text = firstText(result.toString())
  if (text === undefined) return undefined
  const line = String(maskSecrets(redact(text)))
    .replace(/\s+/g, ' ')
    .trim()
  return line === '' ? undefined : truncated(line, MAX_TOOL_ERROR)
}

export interface CallLogOptions {
  /** Records the arguments and results of all calls. */
  readonly contents: boolean
  /** True while the arguments and results of this server's calls are recorded. */
  isRecorded(server: string): boolean
  /** Returns since when the definition of a call's item has been held, as ISO time; undefined if it is not held. */
  heldSince(call: Pick<CallObservation, 'kind' | 'server' | 'item' | 'endpoint'>): string | undefined
}

/**
 * Logs each completed call, with what a tool says about its own failure; if that is wanted, also its arguments and
 * result.
 */
export function createCallLog(
  log: CallRowSink,
  { contents, isRecorded, heldSince }: CallLogOptions
): Pick<Observer, 'onCall'> {
  const schedule = createBatchScheduler()
  const rate = createRateLimiter({ perKey: MAX_CONTENTS_PER_S, inAll: MAX_CONTENTS_PER_S, windowMs: 1_000 })
  const hasPlace = () => {
    if (rate.remainingMs() <= 0) rate.startWindow()
    return rate.admit('contents')
  }
  const isWanted = ({ server }: CallObservation) => contents || (server !== undefined && isRecorded(server))
  return {
    onCall(observed) {
      const row = rowOf(observed, heldSince)
      if (log.queued >= MAX_QUEUED_CONTENTS) return log.record(row)
      row.stderr = tailOf(observed)
      const hasContents = isWanted(observed) && hasPlace()
      if (!hasContents && observed.outcome !== 'tool_error') return log.record(row)
      // parsing contents takes time, and the answer has not been sent yet
      schedule(() => {
        if (hasContents) addContents(row, observed)
        row.error = toolErrorOf(observed) ?? row.error
        log.record(row)
      })
    }
  }
}
