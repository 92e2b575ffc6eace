import { useSignal } from '@preact/signals'
import type { ToolGroupView } from '../../../src/schemas/dashboard/tool-groups.ts'
import { useRights } from '../app-context.ts'
import { ClientName } from '../connect/clients-seen.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Ago } from '../ui/time.tsx'
import { link } from '../router.ts'

/** Endpoints of the group. */
export function GroupEndpoints({ group }: { group: ToolGroupView }) {
  const isSseShown = useSignal(false)
  const { name, streamable_http_endpoint: url, sse_endpoint, sse_message_endpoint, seen, clients } = group
  const [newest] = clients
  const { audit } = useRights()
  return (
    <div class="endp">
      <div>
        <span class="lbl" id="endpoint">
          Endpoint
        </span>
        <code class="url" aria-describedby="endpoint">
          {url}
        </code>
        <span class="help blk">
          {!audit ? null : seen === undefined ? (
            'No client has used it yet.'
          ) : (
            <>
              Last used{' '}
              {newest && (
                <>
                  by <ClientName client={newest} />{' '}
                </>
              )}
              <Ago at={seen} />.
            </>
          )}
        </span>
      </div>
      <div class="actions">
        <CopyButton text={url}>Copy URL</CopyButton>
        <a class="btn" href={link('connect', '', { group: name })}>
          Connect a client
        </a>
        <button
          type="button"
          class="btn quiet"
          aria-expanded={isSseShown.value}
          onClick={() => (isSseShown.value = !isSseShown.value)}
        >
          SSE endpoints
        </button>
      </div>
      {isSseShown.value && (
        <dl class="kv sse">
          <div>
            <dt>Stream</dt>
            <dd>
              <code>{sse_endpoint}</code>
            </dd>
          </div>
          <div>
            <dt>Messages</dt>
            <dd>
              <code>{sse_message_endpoint}</code>
            </dd>
          </div>
        </dl>
      )}
    </div>
  )
}
