import { codes } from '../protocol/jsonrpc.ts'
import { httpStatuses } from '../protocol/upstream-failure.ts'
import { statusDescriptions } from '../schemas/shared.ts'

const statusRow = ([status, meaning]: [string, string]) => `| ${status} | ${meaning} |`

/** Meaning of each reason, in page order. */
const reasons: Readonly<Record<keyof typeof httpStatuses, string>> = {
  unreachable:
    'The gateway cannot connect to it; or its circuit breaker is open after five time-outs: then 503 with `Retry-After`',
  timeout: 'It did not answer in time',
  crashed: 'Its process ended',
  auth: 'It rejects its credentials, or its authorization has expired',
  bad_response: 'Its response is not valid MCP, or cannot be passed on to this caller',
  too_large: 'Its response is larger than `TOWPATH_UPSTREAM_RESPONSE_BYTES`',
  overloaded: 'No process is free, or too many calls wait for input from their clients',
  limited: 'The caller has too many calls in progress',
  denied: 'The egress policy or the `stdio` settings deny it',
  unreadable: 'Its stored secrets cannot be decrypted with the current encryption key',
  cancelled: 'The caller cancelled the call, or the gateway stopped'
}

const rpc: Readonly<Record<keyof typeof codes, string>> = {
  parse: 'The body is not JSON, or exceeds a limit',
  invalidRequest: 'The JSON is not a request',
  methodNotFound: 'The method is unknown, or no server here supports it',
  invalidParams: 'Invalid parameters, or a tool, prompt or resource that this endpoint does not have',
  internal: 'The upstream failed; `data` has the reason',
  session: 'The request does not match the session or the transport',
  sessionNotFound: 'The session has ended or never existed: initialize again',
  legacyResourceNotFound: 'Resource not found (clients up to 2025-11-25)',
  headerMismatch: 'A header and the body differ (2026-07-28)',
  missingCapability: 'The server needs a capability that the client did not declare (2026-07-28)',
  unsupportedVersion: 'The protocol version is not supported; `data` lists the supported ones'
}

/** Returns the text of docs/reference/errors.md. */
export const errorsReference = (): string =>
  `# Errors

Every error response is JSON, \`{"error": "message"}\`, with \`Content-Type: application/json\`, including unknown paths and
methods. Some also have a machine-readable \`code\`. Messages of 5xx errors contain no stack, SQL, path or secret. On MCP
endpoints, protocol errors are JSON-RPC errors instead.

This page is generated from the source.

## Statuses

<!-- prettier-ignore -->
| Status | Meaning |
|---|---|
${Object.entries(statusDescriptions).map(statusRow).join('\n')}

Also 417 (an expectation other than \`100-continue\`). 401 has \`WWW-Authenticate: Bearer\`. The [HTTP interface](http.md)
lists the errors of each operation.

A tool that reports a failure is not an HTTP error: the status is 200 and the result has \`"isError": true\`.

## Codes

<!-- prettier-ignore -->
| Code | With | Meaning |
|---|---|---|
| \`catalogue_entry_changed\` | 409 | The entry of the catalogue has another version, or is not the one whose \`digest\` was sent |
| \`values_missing\` | 400 | Required values of a server of the catalogue are missing |
| \`denied_by_policy\` | 403 | A [policy](../how-to/policies.md) refuses the call; \`policy\` names it, \`decision\` is in the audit log; \`scopes\` are those with which the token would be allowed, if that helps |
| \`policy_in_file\` | 409 | The policy is in the [policy file](../how-to/policies.md#policies-from-a-file) of the gateway, and can be changed only there |
| \`not_initialized\` | 403 | There is no administrator yet: \`POST /init\` creates the first |
| \`enterprise_mode_only\` | 403 | Development mode has no users and clients |
| \`upstream_oauth_required\` | 400 | The server requires a sign-in: register it with \`oauth_redirect_uri\` |
| \`upstream_oauth_issuer_changed\` | 409 | The server names a different authorization server than at its first sign-in, or than \`oauth_issuer\` |
| \`store_full\` | 503 | The disk of the database is full: calls still work, changes do not |
| \`secrets_unreadable\` | 503 | A stored secret cannot be decrypted with the current encryption key |

## When an upstream fails

REST answers with the status below; MCP with error \`-32603\`, whose \`data\` has \`server\`, \`reason\`, and \`status\` or
\`retryAfter\` (seconds) if known, and \`cause\`, \`summary\` and \`next_step\` as REST has them. A caller with too many calls also gets a plain 429 over MCP, unless the response has started.

<!-- prettier-ignore -->
| \`reason\` | Status | Meaning |
|---|---|---|
${Object.entries(reasons)
  .map(([reason, meaning]) => `| \`${reason}\` | ${httpStatuses[reason as keyof typeof httpStatuses]} | ${meaning} |`)
  .join('\n')}

## JSON-RPC codes of the gateway

Errors of an upstream are passed on with their codes; [eras](../explanation/eras.md) lists the ones that change.

<!-- prettier-ignore -->
| Code | Meaning |
|---|---|
${Object.entries(rpc)
  .map(([name, meaning]) => `| \`${codes[name as keyof typeof codes]}\` | ${meaning} |`)
  .join('\n')}
`
