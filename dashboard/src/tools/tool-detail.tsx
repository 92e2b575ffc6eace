import { PRODUCT } from '../../../src/domain/product.ts'
import { gateway } from '../mount.ts'
import type { ToolView } from '../../../src/schemas/dashboard/tools.ts'
import { useApp, useRights, useSource } from '../app-context.ts'
import { JsonView } from '../ui/json-view.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { count, duration, plural } from '../format.ts'
import type { JsonObject } from '../form/json.ts'
import { Runner } from '../form/runner.tsx'
import { ask } from '../results/answer.ts'
import { ToolResult } from '../results/result.tsx'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { annotationsOf } from './annotations.ts'
import { ItemNotices } from './change-notice.tsx'
import { asCli, asCurl, asJsonRpc, invokeRequest } from './curl.ts'
import { ItemHead } from './item-head.tsx'
import { ItemTags } from './item-tags.tsx'
import { RecentCalls } from './recent-calls.tsx'
import { ServerNotice } from './server-notice.tsx'

const tabs = [
  { id: 'try', label: 'Try it' },
  { id: 'input', label: 'Input schema' },
  { id: 'output', label: 'Output schema' },
  { id: 'calls', label: 'Recent calls' }
] as const
type TabId = (typeof tabs)[number]['id']

/** Details of one tool. */
export function ToolDetail({ tool, tab }: { tool: ToolView; tab: string | undefined }) {
  const { location } = useApp()
  const { call } = useRights()
  const offered = tabs.filter(({ id }) => call || id !== 'try')
  const [first] = offered
  const current = offered.find(({ id }) => id === tab)?.id ?? first!.id
  return (
    <section class="det" aria-labelledby="tool-name">
      <ItemHead kind="tools" item={tool} id="tool-name" />
      <ToolFacts tool={tool} />
      <ItemNotices kind="tools" item={tool} />
      <Tabs
        label="Tool views"
        tabs={offered}
        current={current}
        onSelect={(id) => location.setQuery({ tab: id === first!.id ? '' : id })}
      >
        <TabBody tool={tool} tab={current} />
      </Tabs>
    </section>
  )
}

function TabBody({ tool, tab }: { tool: ToolView; tab: TabId }) {
  switch (tab) {
    case 'try':
      return <TryIt tool={tool} />
    case 'input':
      return <JsonView value={tool.input_schema} label="Input schema" />
    case 'output':
      return tool.output_schema ? (
        <JsonView value={tool.output_schema} label="Output schema" />
      ) : (
        <p class="muted">The tool has no output schema.</p>
      )
    case 'calls':
      return <RecentCalls tool={tool.canonical_name} />
  }
}

/** Line with hints, size, groups and the calls of the last 24 hours. */
function ToolFacts({ tool }: { tool: ToolView }) {
  const groups = useSource(sources.groups).data.value?.tool_groups ?? []
  const stats = useSource(useRights().audit ? sources.stats('24h') : undefined).data.value
  const holding = groups.filter(({ tools }) => tools.some(({ name }) => name === tool.canonical_name))
  const isTool = (each: { server: string; tool: string }) => each.server === tool.server && each.tool === tool.name
  const today = stats && [...stats.top_tools, ...stats.slowest_tools].find(isTool)
  return (
    <div class="actions">
      <ItemTags item={tool} />
      <span class="tag">~{count(tool.tokens)} tokens</span>
      {holding.length > 0 && (
        <span class="muted">
          in{' '}
          {holding.map(({ name }, at) => (
            <span key={name}>
              {at > 0 && ', '}
              <a href={link('group', name)}>{name}</a>
            </span>
          ))}
        </span>
      )}
      {today && (
        <span class="muted">
          {plural(today.calls, 'call')} in 24 h{today.p95_ms === undefined ? '' : `, p95 ${duration(today.p95_ms)}`}
        </span>
      )}
    </div>
  )
}

function TryIt({ tool }: { tool: ToolView }) {
  const { canonical_name: name, input_schema: schema } = tool
  const call = (args: JsonObject) => ({ name, args })
  const isDestructive = annotationsOf(tool.annotations).includes('destructive')
  return (
    <Runner
      key={name}
      name={name}
      schema={schema}
      action="Call tool"
      failed="The tool was not called."
      run={(args, signal) => {
        const { path, body } = invokeRequest(call(args))
        return ask(path, body, signal)
      }}
      copies={{
        'Copy as curl': (args) => asCurl(call(args), gateway),
        'Copy as CLI': (args) => asCli(call(args), PRODUCT),
        'Copy as JSON-RPC': (args) => asJsonRpc(call(args))
      }}
      warning={isDestructive ? 'declares that it may delete or overwrite data.' : undefined}
      result={(answer) => <ToolResult answer={answer} outputSchema={tool.output_schema} />}
    >
      <ServerNotice item={tool} itemKind="tool" />
    </Runner>
  )
}
