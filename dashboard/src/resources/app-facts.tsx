import type { JsonObject } from '../form/json.ts'
import { KeyValues, Row } from '../ui/key-values.tsx'
import { UntrustedText } from '../ui/untrusted-text.tsx'
import { appFacts } from './app.ts'

/** CSP and permissions that the interface of an MCP App declares; the interface itself is never rendered. */
export const AppFacts = ({ app }: { app: JsonObject }) => (
  <KeyValues columns={2}>
    {appFacts(app).map(([label, text]) => (
      <Row key={label} label={label}>
        <UntrustedText text={text} />
      </Row>
    ))}
  </KeyValues>
)
