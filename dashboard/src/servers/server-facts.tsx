import type { ServerDetails } from '../../../src/schemas/dashboard/servers.ts'
import { useRights } from '../app-context.ts'
import { count } from '../format.ts'
import { targetOf } from './server-state.ts'
import { Chevron } from '../ui/icons.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { KeyValues, Row } from '../ui/key-values.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { Ago } from '../ui/time.tsx'

const eras = ({ modern, legacy }: NonNullable<ServerDetails['protocol']>): string =>
  [modern && `${modern}, modern era`, legacy && `${legacy}, legacy era`].filter(Boolean).join(' and ')

const infoText = ({ name, title, version }: Record<string, unknown>): string =>
  [title ?? name, version].filter((part) => typeof part === 'string').join(' ')

/** Contacts and sessions, which tell how all people together use the server. */
const UseFacts = ({ server }: { server: ServerDetails }) => (
  <>
    <Row label="Last contact">{server.last_connected_at ? <Ago at={server.last_connected_at} /> : '—'}</Row>
    <Row label="Lists refreshed">{server.last_discovered_at ? <Ago at={server.last_discovered_at} /> : '—'}</Row>
    <Row label="Sessions">{count(server.sessions)}</Row>
    {server.config_summary.session_mode !== 'stateless' ? (
      <Row label="Idle sessions">{count(server.idle_sessions)}</Row>
    ) : (
      <Row label="Spare sessions">{count(server.spare_sessions)}</Row>
    )}
    {server.config_summary.kind === 'stdio' && <Row label="Processes">{count(server.processes)}</Row>}
  </>
)

/** Configuration and protocol facts of a server. */
export function ServerFacts({ server }: { server: ServerDetails }) {
  const { config_summary: config, protocol, server_info: info, capabilities, instructions } = server
  const { audit } = useRights()
  return (
    <>
      <KeyValues columns={2}>
        {audit && (
          <Row label={config.kind === 'http' ? 'URL' : 'Command'}>
            <code>
              <UntrustedText text={targetOf(config)} />
            </code>
          </Row>
        )}
        <Row label="Transport">{server.transport}</Row>
        <Row label="Session mode">{config.session_mode}</Row>
        {config.apps === false && <Row label="App interfaces">off</Row>}
        {config.trusted_annotations && <Row label="Annotations">trusted by policies</Row>}
        {audit && <Row label="Protocol">{(protocol && eras(protocol)) || '—'}</Row>}
        {protocol && <Row label="Session support">{protocol.has_sessions ? 'yes' : 'no'}</Row>}
        {info && (
          <Row label="Server">
            <UntrustedText text={infoText(info)} />
          </Row>
        )}
        {(config.header_keys?.length ?? 0) > 0 && (
          <Row label="Headers">
            <UntrustedText text={config.header_keys!.join(', ')} />
          </Row>
        )}
        {(config.env_keys?.length ?? 0) > 0 && (
          <Row label="Environment">
            <UntrustedText text={config.env_keys!.join(', ')} />
          </Row>
        )}
        {server.issuer && (
          <Row label="Signed in at">
            <UntrustedText text={server.issuer} />
          </Row>
        )}
        <Row label="Registered">
          <Ago at={server.registered_at} />
        </Row>
        {audit && <UseFacts server={server} />}
      </KeyValues>
      {instructions && (
        <details class="json bare">
          <summary>
            <Chevron />
            Instructions for agents
          </summary>
          <p class="desc quoted">
            <UntrustedText text={instructions} />
          </p>
        </details>
      )}
      {capabilities && (
        <details class="json bare">
          <summary>
            <Chevron />
            Capabilities
          </summary>
          <JsonView value={capabilities} label="Capabilities" />
        </details>
      )}
    </>
  )
}
