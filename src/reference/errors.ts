import { codes } from '../gateway/downstream/jsonrpc.ts'
import { httpStatuses } from '../gateway/upstream/failure.ts'
import { statusDescriptions } from '../schemas/shared.ts'

const statusRow = ([status, meaning]: [string, string]) => `| ${status} | ${meaning} |`

/** Meaning of each reason, in page order. */
const reasons: Readonly<Record<keyof typeof httpStatuses, string>> = {
  unreachable: 'It cannot be connected to; or it is given a rest after five time-outs: then 503 with `Retry-After`',
  timeout: 'It did not answer in time',
  crashed: 'Its process ended',
  auth: 'It rejects the credentials that it is sent, or its authorization has ended',
  bad_response: 'Its answer is no MCP, or cannot be passed on to this caller',
  too_large: 'Its answer is larger than `TOWPATH_UPSTREAM_RESPONSE_BYTES`',
  overloaded: 'No process is free, or too many calls wait for an answer of their client',
  limited: 'The caller has too many calls under way',
  denied: 'The egress policy or the `stdio` settings forbid it',
  unreadable: 'Its stored secrets do not open with the encryption key in use',
  cancelled: 'The caller, or the gateway at its stop, ended the call'
}

const rpc: Readonly<Record<keyof typeof codes, string>> = {
  parse: 'The body is not JSON, or past a limit',
  invalidRequest: 'It is JSON, and no request',
  methodNotFound: 'The method is unknown, or nobody here offers it',
  invalidParams: 'Parameters are wrong, or a tool, prompt or resource is not known at this endpoint',
  internal: 'The upstream failed; `data` says how',
  session: 'The request does not fit the session or the transport',
  sessionNotFound: 'The session has ended or never was: initialize again',
  legacyResourceNotFound: 'The upstream does not know the resource (clients up to 2025-11-25)',
  headerMismatch: 'A header does not say what the body says (2026-07-28)',
  missingCapability: 'The server needs a capability that the client did not declare (2026-07-28)',
  unsupportedVersion: 'The protocol version is not supported; `data` lists those that are'
}

/** Returns the text of docs/reference/errors.md. */
export const errorsReference = (): string =>
  `# Errors

Every answer that is not a success is JSON, \`{"error": "what went wrong"}\`, with \`Content-Type: application/json\`; unknown
paths and methods too. Some have a second member \`code\`, for programs. A text of the 5xx kind holds no stack, SQL, path or
secret. On MCP endpoints what goes wrong in the protocol is a JSON-RPC error instead.

This page is generated from the source.

## Statuses

<!-- prettier-ignore -->
| Status | Meaning |
|---|---|
${Object.entries(statusDescriptions).map(statusRow).join('\n')}

Also 417 (an expectation other than \`100-continue\`). 401 carries \`WWW-Authenticate: Bearer\`. The 4xx and 5xx that each
operation can answer are in the [HTTP interface](http.md).

A tool that fails by its own logic is no error: 200, and the result has \`"isError": true\`.

## Codes

<!-- prettier-ignore -->
| Code | With | Meaning |
|---|---|---|
| \`upstream_oauth_required\` | 400 | The server wants a sign-in: register it with \`oauth_redirect_uri\` |
| \`upstream_oauth_issuer_changed\` | 409 | The server names another authorization server than at its first sign-in, or than \`oauth_issuer\` |
| \`store_full\` | 503 | The disk of the database is full: calls go on, nothing can be changed |
| \`secrets_unreadable\` | 503 | A stored secret does not open with the encryption key in use |

## When an upstream fails

Over REST the status; over MCP the error \`-32603\`, whose \`data\` has \`server\`, \`reason\`, and \`status\` or \`retryAfter\` (seconds)
where there is one. A caller with too many calls gets the plain 429 over MCP too, where HTTP can still say it.

<!-- prettier-ignore -->
| \`reason\` | Status | Meaning |
|---|---|---|
${Object.entries(reasons)
  .map(([reason, meaning]) => `| \`${reason}\` | ${httpStatuses[reason as keyof typeof httpStatuses]} | ${meaning} |`)
  .join('\n')}

## JSON-RPC codes of the gateway

An upstream's own errors are passed on with their codes; [eras](../explanation/eras.md) says which ones change.

<!-- prettier-ignore -->
| Code | Meaning |
|---|---|
${Object.entries(rpc)
  .map(([name, meaning]) => `| \`${codes[name as keyof typeof codes]}\` | ${meaning} |`)
  .join('\n')}
`
