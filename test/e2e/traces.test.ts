import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startRecorder, type Recorder, type RecorderOptions } from '../fixtures/http/recorder.ts'
import { attributesOf, startCollector, type Collector, type ReceivedSpan } from '../fixtures/otlp.ts'
import { actorAt, type Actor } from './enterprise.ts'
import { startGateway, type Gateway } from './harness.ts'
import { until } from '../until.ts'
import { addCleanup } from '../store.ts'

const TRACE = 'a'.repeat(32)
const PARENT = 'b'.repeat(16)
const traceparent = `00-${TRACE}-${PARENT}-01`
const other = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`
const tracestate = 'vendor=one,other=two'

interface TracedGateway {
  readonly gateway: Gateway
  readonly actor: Actor
  readonly alpha: Recorder
}

async function start(t: TestContext, env: NodeJS.ProcessEnv, options: RecorderOptions = {}): Promise<TracedGateway> {
  const gateway = await startGateway(t, { env: { TOWPATH_TRACE_CONTEXT: 'all', ...env } })
  const alpha = await startRecorder(null, { legacy: 'sessionless', ...options })
  addCleanup(t, alpha.close)
  await gateway.register({ name: 'alpha', transport: 'streamable_http', url: alpha.url })
  return { gateway, actor: actorAt(t, gateway.url), alpha }
}

const exporting = (collector: Collector) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '50'
})

async function startTraced(t: TestContext, options: RecorderOptions = {}, env: NodeJS.ProcessEnv = {}) {
  const collector = await startCollector(null)
  addCleanup(t, collector.close)
  return { collector, ...(await start(t, { ...exporting(collector), ...env }, options)) }
}

async function spansOf(collector: Collector, count: number): Promise<ReceivedSpan[]> {
  await until(`${count} spans`, () => collector.spans().length >= count)
  return collector.spans()
}

const partsOf = (spans: readonly ReceivedSpan[]) => ({
  own: spans.find(({ kind }) => kind === 2)!,
  theirs: spans.find(({ kind }) => kind === 3)!
})

const lastCall = ({ requests }: Recorder) => requests.findLast(({ message }) => message?.method === 'tools/call')!
const metaOf = (recorder: Recorder) =>
  lastCall(recorder).message!.params!['_meta'] as Record<string, unknown> | undefined

const call = (more: object = {}) => ({ name: 'alpha__echo', arguments: { text: 'private' }, ...more })

for (const era of ['legacy', 'modern'] as const) {
  test(`${era}: a call is a span in the trace of its caller, with a span of its server that the server is told`, async (t) => {
    const { collector, actor, alpha } = await startTraced(t, era === 'modern' ? { modern: true } : {})
    await actor[era]('tools/call', call({ _meta: { traceparent, tracestate } }), { traceparent: other })
    const { own, theirs } = partsOf(await spansOf(collector, 2))
    assert.deepEqual([own.name, theirs.name], ['tools/call alpha__echo', 'tools/call alpha__echo'])
    // trace context in the message takes precedence over that of the headers
    assert.deepEqual([own.traceId, own.parentSpanId, own.traceState], [TRACE, PARENT, tracestate])
    assert.deepEqual([theirs.traceId, theirs.parentSpanId], [TRACE, own.spanId])
    const told = `00-${TRACE}-${theirs.spanId}-01`
    const { headers } = lastCall(alpha)
    assert.deepEqual([headers['traceparent'], headers['tracestate']], [told, tracestate])
    assert.deepEqual([metaOf(alpha)?.['traceparent'], metaOf(alpha)?.['tracestate']], [told, tracestate])
    assert.deepEqual(attributesOf(own.attributes), {
      'mcp.method.name': 'tools/call',
      'towpath.server': 'alpha',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'echo'
    })
    assert.ok(BigInt(own.startTimeUnixNano) <= BigInt(theirs.startTimeUnixNano))
    assert.ok(BigInt(own.endTimeUnixNano) >= BigInt(theirs.endTimeUnixNano))
    assert.doesNotMatch(collector.text(), /private/)
  })

  test(`${era}: without traces the context passes as it came`, async (t) => {
    const { actor, alpha } = await start(t, {}, era === 'modern' ? { modern: true } : {})
    await actor[era]('tools/call', call({ _meta: { traceparent, tracestate } }), { traceparent: other })
    const { headers } = lastCall(alpha)
    assert.equal(headers['traceparent'], other)
    assert.deepEqual([metaOf(alpha)?.['traceparent'], metaOf(alpha)?.['tracestate']], [traceparent, tracestate])
    await actor[era]('tools/call', call(), { traceparent: `${other}x`, tracestate })
    assert.equal(lastCall(alpha).headers['traceparent'], undefined)
    assert.equal(lastCall(alpha).headers['tracestate'], undefined)
  })
}

const [own, off] = [{ TOWPATH_TRACE_CONTEXT: '' }, { TOWPATH_TRACE_CONTEXT: 'off' }]
const sensitive = { traceparent, tracestate, baggage: 'user=alice' }
const traceContextOf = (recorder: Recorder) => {
  const { headers } = lastCall(recorder)
  const { traceparent: parent, tracestate: state, baggage } = metaOf(recorder) ?? {}
  return [headers['traceparent'], headers['tracestate'], headers['baggage'], parent, state, baggage]
}
const nothing = Array<undefined>(6).fill(undefined)

for (const era of ['legacy', 'modern'] as const) {
  for (const [name, env] of Object.entries({ own, off })) {
    test(`SR-L9 ${era}: a gateway that exports no traces tells servers nothing of its callers' traces (${name})`, async (t) => {
      const { actor, alpha } = await start(t, env, era === 'modern' ? { modern: true } : {})
      await actor[era]('tools/call', call({ _meta: { ...sensitive, own: 1 } }), sensitive)
      assert.deepEqual(traceContextOf(alpha), nothing)
      assert.equal(metaOf(alpha)!['own'], 1)
      await actor.send('POST', '/api/v0/tools/invoke', { name: 'alpha__echo', text: 'x' }, sensitive)
      assert.deepEqual(traceContextOf(alpha), nothing)
    })
  }

  test(`SR-L9 ${era}: servers are told of the gateway's own span alone, and with "off" of none`, async (t) => {
    const { collector, actor, alpha } = await startTraced(t, era === 'modern' ? { modern: true } : {}, own)
    await actor[era]('tools/call', call({ _meta: sensitive }), sensitive)
    const { theirs, own: root } = partsOf(await spansOf(collector, 2))
    assert.equal(root.parentSpanId, PARENT)
    const span = `00-${TRACE}-${theirs.spanId}-01`
    assert.deepEqual(traceContextOf(alpha), [span, undefined, undefined, span, undefined, undefined])
    const silent = await startTraced(t, era === 'modern' ? { modern: true } : {}, off)
    await silent.actor[era]('tools/call', call({ _meta: sensitive }), sensitive)
    assert.deepEqual(traceContextOf(silent.alpha), nothing)
    assert.equal(partsOf(await spansOf(silent.collector, 2)).own.parentSpanId, PARENT)
  })
}

test('REST takes the context from its headers; a call that fails says how', async (t) => {
  const { collector, actor, alpha } = await startTraced(t)
  await actor.send('POST', '/api/v0/tools/invoke', { name: 'alpha__fail' }, { traceparent })
  const { own, theirs } = partsOf(await spansOf(collector, 2))
  assert.deepEqual([own.traceId, own.parentSpanId], [TRACE, PARENT])
  assert.deepEqual([own.status.code, attributesOf(own.attributes)['error.type']], [2, 'tool_error'])
  assert.equal(lastCall(alpha).headers['traceparent'], `00-${TRACE}-${theirs.spanId}-01`)
})

test('a call without a context begins a trace; one that is not sampled is not exported, and says so to its server', async (t) => {
  const { collector, actor, alpha } = await startTraced(t)
  await actor.legacy('tools/call', call({ _meta: { traceparent: `00-${TRACE}-${PARENT}-00` } }))
  assert.match(metaOf(alpha)!['traceparent'] as string, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
  await actor.legacy('tools/call', call())
  const spans = await spansOf(collector, 2)
  assert.equal(spans.length, 2)
  const { own, theirs } = partsOf(spans)
  assert.notEqual(own.traceId, TRACE)
  assert.equal(own.parentSpanId ?? '', '')
  assert.equal(metaOf(alpha)!['traceparent'], `00-${own.traceId}-${theirs.spanId}-01`)
})

test('spans say what service they are of, and nothing of the machine unless that is asked for', async (t) => {
  const { collector, actor } = await startTraced(t, {}, { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test' })
  await actor.legacy('tools/call', call())
  await spansOf(collector, 2)
  const [resource] = collector.resources()
  assert.equal(resource!['service.name'], 'towpath')
  assert.equal(resource!['deployment.environment'], 'test')
  assert.deepEqual(
    Object.keys(resource!).filter((key) => /^(host|process|os)\./.test(key)),
    []
  )
})

test('what is left is sent when the gateway stops; a collector that does not answer holds it up for seconds only', async (t) => {
  const slow = { OTEL_BSP_SCHEDULE_DELAY: '600000' }
  const { collector, actor, gateway } = await startTraced(t, {}, slow)
  await actor.legacy('tools/call', call())
  assert.equal(collector.spans().length, 0)
  assert.equal(await gateway.stop(), 0)
  assert.equal(collector.spans().length, 2)

  const silent = await startCollector(null, true)
  addCleanup(t, silent.close)
  const stuck = await start(t, { ...exporting(silent), ...slow })
  await stuck.actor.legacy('tools/call', call())
  assert.equal(await stuck.gateway.stop(), 0, 'no SIGKILL was needed')
})

test('traces are off where OTEL_ENABLED says so', async (t) => {
  const { collector, actor, alpha, gateway } = await startTraced(t, {}, { OTEL_ENABLED: 'off' })
  await actor.legacy('tools/call', call({ _meta: { traceparent } }))
  assert.equal(metaOf(alpha)!['traceparent'], traceparent)
  assert.equal(await gateway.stop(), 0)
  assert.equal(collector.requests.length, 0)
})
