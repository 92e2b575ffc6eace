import type { ResourceView, TemplateView } from '../../../src/schemas/dashboard/resources.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Switch } from '../ui/switch.tsx'
import { bytes } from '../format.ts'
import { ItemNotices } from '../tools/change-notice.tsx'
import { ItemTags } from '../tools/item-tags.tsx'
import { ServerNotice } from '../tools/server-notice.tsx'
import { useSwitch } from '../tools/switching.ts'
import type { JsonObject } from '../form/json.ts'
import { AppFacts } from './app-facts.tsx'
import { Reader } from './reader.tsx'

/** Resource or template; only one of the two uses the URI as its key. */
export type AnyResource = (ResourceView | TemplateView) & { readonly key: string; readonly isTemplate: boolean }

/** Resource or template with a reader. */
export function ResourceDetail({ resource }: { resource: AnyResource }) {
  const { key: uri, isTemplate, name, title, description, mime_type } = resource
  const size = 'size' in resource ? resource.size : undefined
  const setEnabled = useSwitch('resources')
  return (
    <section class="det" aria-labelledby="resource-name">
      <div class="row">
        <h2 id="resource-name" class="strong" data-arrival tabIndex={-1}>
          <UntrustedText text={title ?? name} />
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
        <UntrustedText text={uri} />
      </code>
      {description && (
        <p class="desc">
          <UntrustedText text={description} />
        </p>
      )}
      <div class="actions">
        <ItemTags item={resource} />
        {isTemplate && <span class="tag">template</span>}
        {mime_type && (
          <span class="tag">
            <UntrustedText text={mime_type} />
          </span>
        )}
        {size !== undefined && <span class="tag">{bytes(size)}</span>}
      </div>
      {resource.app && <AppFacts app={resource.app as JsonObject} />}
      <ItemNotices kind="resources" item={resource} />
      <Reader key={uri} uri={uri} isTemplate={isTemplate}>
        <ServerNotice item={resource} itemKind="resource" />
      </Reader>
    </section>
  )
}

/** Page for a URI that no server lists; a template may match it. */
export const UnlistedResource = ({ uri }: { uri: string }) => (
  <section class="det" aria-labelledby="resource-name">
    <h2 id="resource-name" class="strong" data-arrival tabIndex={-1}>
      No server lists this resource
    </h2>
    <code class="wraps">
      <UntrustedText text={uri} />
    </code>
    <p class="desc">It can be read if a template matches it, or if it is a file of a skill.</p>
    <Reader key={uri} uri={uri} isTemplate={false} />
  </section>
)
