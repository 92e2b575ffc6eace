import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { PRODUCT } from '../../../src/domain/product.ts'
import type { ResourceView, TemplateView } from '../../../src/schemas/dashboard/resources.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Shown } from '../components/shown.tsx'
import { Switch } from '../components/switch.tsx'
import { bytes } from '../format.ts'
import { isJsonObject, isList, type JsonObject } from '../form/json.ts'
import { Runner } from '../form/runner.tsx'
import { ask, type Answer } from '../results/answer.ts'
import { contentsBlock } from '../results/blocks.ts'
import { ResultFrame } from '../results/result.tsx'
import { BlockView } from '../results/result-blocks.tsx'
import { postCurl, shellWord } from '../tools/copies.ts'
import { ItemNotices } from '../tools/change-notice.tsx'
import { ItemTags } from '../tools/item-tags.tsx'
import { useSwitch } from '../tools/switching.ts'
import { ServerNotice } from '../tools/server-notice.tsx'
import { expandTemplate, templateVariables } from './template.ts'

/** A resource, or a template of many: one of the two has the URI. */
export type AnyResource = (ResourceView | TemplateView) & { readonly key: string; readonly isTemplate: boolean }

/** One resource, and what is read of it. */
export function ResourceDetail({ resource }: { resource: AnyResource }) {
  const { key: uri, isTemplate, name, title, description, mime_type } = resource
  const size = 'size' in resource ? resource.size : undefined
  const setEnabled = useSwitch('resources')
  const schema = useMemo(() => (isTemplate ? schemaOf(uri) : { type: 'object' }), [isTemplate, uri])
  const target = (args: JsonObject) => (isTemplate ? expandTemplate(uri, args as Record<string, string>) : uri)
  return (
    <section class="det" aria-labelledby="resource-name">
      <div class="row">
        <h2 id="resource-name" class="strong" data-arrival tabIndex={-1}>
          <Shown text={title ?? name} />
        </h2>
        <div class="actions">
          <CopyButton kind="quiet" text={uri}>
            Copy URI
          </CopyButton>
          <Switch name={name} checked={resource.enabled} onSwitch={(enabled) => setEnabled(uri, enabled)}>
            Enabled
          </Switch>
        </div>
      </div>
      <code class="wraps">
        <Shown text={uri} />
      </code>
      {description && (
        <p class="desc">
          <Shown text={description} />
        </p>
      )}
      <div class="actions">
        <ItemTags item={resource} />
        {isTemplate && <span class="tag">template</span>}
        {mime_type && (
          <span class="tag">
            <Shown text={mime_type} />
          </span>
        )}
        {size !== undefined && <span class="tag">{bytes(size)}</span>}
      </div>
      <ItemNotices kind="resources" name={uri} item={resource} />
      <Runner
        key={uri}
        name={uri}
        schema={schema}
        action="Read"
        failed="The resource was not read."
        plain={!isTemplate}
        run={(args, signal) => ask('/api/v0/resources/read', { uri: target(args) }, signal)}
        copies={{
          'Copy as curl': (args) => postCurl('/api/v0/resources/read', { uri: target(args) }, location.origin),
          'Copy as CLI': (args) => `${PRODUCT} read ${shellWord(target(args))}`
        }}
        result={(answer) => <Contents answer={answer} />}
      >
        <ServerNotice item={resource} what="resource" />
      </Runner>
    </section>
  )
}

const schemaOf = (template: string) => ({
  type: 'object',
  properties: Object.fromEntries(templateVariables(template).map((name) => [name, { type: 'string' }])),
  additionalProperties: false
})

/** So much of a resource is shown; the rest is in Copy JSON. */
const MAX_SHOWN = 1_000_000

function Contents({ answer }: { answer: Answer }) {
  const result = isJsonObject(answer.value) ? answer.value : {}
  const contents = isList(result.contents) ? result.contents.filter(isJsonObject) : []
  return (
    <ResultFrame answer={answer}>
      {contents.map((each, at) => (
        <OneContents key={at} contents={each} isNamed={contents.length > 1} />
      ))}
      {contents.length === 0 && <p class="muted">The resource is empty.</p>}
    </ResultFrame>
  )
}

function OneContents({ contents, isNamed }: { contents: JsonObject; isNamed: boolean }) {
  const isAll = useSignal(false)
  const { text, uri } = contents
  const isCut = typeof text === 'string' && text.length > MAX_SHOWN && !isAll.value
  const shown = isCut ? { ...contents, text: text.slice(0, MAX_SHOWN) } : contents
  return (
    <div class="stack">
      {isNamed && typeof uri === 'string' && (
        <code>
          <Shown text={uri} />
        </code>
      )}
      <BlockView block={contentsBlock(shown)} />
      {isCut && <p class="help">This is the first 1 MB of {bytes(text.length)}. “Copy JSON” has all of it.</p>}
    </div>
  )
}
