import { maskSecrets } from '../domain/redaction.ts'
import { escaped } from '../domain/text.ts'
import type { CallRow } from '../registry/calls.ts'
import type { CallObservation, Observer } from './observation.ts'

/** Texts may come from outside: as long as this, and nothing in them that is not seen. */
const MAX_TEXT = 200
const MAX_CONTENT = 4_096
/** What is larger costs more to read than its begin is worth. */
const MAX_READ = 65_536
/** An outage must not fill the memory with contents. */
const MAX_QUEUED_CONTENTS = 1_000

/** What is cut off must not stay in memory behind what is kept. */
const kept = (text: string, max: number) =>
  text.length <= max ? escaped(text, max) : Buffer.from(escaped(text, max)).toString()

const rounded = (ms: number) => Math.round(ms * 1_000) / 1_000

const rowOf = ({ caller, result, item, error, ...call }: CallObservation): CallRow => ({
  at: call.startedAt,
  kind: call.kind,
  caller_kind: caller.kind,
  caller: caller.name,
  endpoint: call.endpoint,
  via: call.via,
  server: call.server,
  item: item === undefined ? undefined : kept(item, MAX_TEXT),
  outcome: call.outcome,
  total_ms: rounded(call.totalMs),
  upstream_ms: rounded(call.upstreamMs),
  request_bytes: Buffer.byteLength(call.params),
  response_bytes: result ? result.length : 0,
  error: error === undefined ? undefined : kept(call.redact(error), MAX_TEXT),
  request_id: call.requestId
})

function contentOf(json: string, redact: (text: string) => string): string | undefined {
  if (json.length > MAX_READ) return undefined
  try {
    return kept(redact(JSON.stringify(maskSecrets(JSON.parse(json)))), MAX_CONTENT)
  } catch {
    return undefined
  }
}

function argumentsOf({ params, redact }: CallObservation): string | undefined {
  if (params === '' || params.length > MAX_READ) return undefined
  const { arguments: given } = JSON.parse(`{${params}}`) as { arguments?: unknown }
  return given === undefined ? undefined : contentOf(JSON.stringify(given), redact)
}

const withContents = (call: CallObservation): CallRow => {
  const { result, redact } = call
  return {
    ...rowOf(call),
    arguments: argumentsOf(call),
    result: result && result.length <= MAX_READ ? contentOf(result.toString(), redact) : undefined
  }
}

/** Where rows go: stored soon, and nobody waits. */
interface Sink {
  record(row: CallRow): void
  readonly queued: number
}

/** Writes down each call that is over; `contents`: with its arguments and its result. */
export const createCallLog = (log: Sink, contents: boolean): Pick<Observer, 'call'> => ({
  call(done) {
    if (!contents || log.queued >= MAX_QUEUED_CONTENTS) return log.record(rowOf(done))
    // reading them takes time, and the answer has not gone yet
    setImmediate(() => log.record(withContents(done)))
  }
})
