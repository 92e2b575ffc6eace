import { hasCode, type Cause, type FailureFacts } from './cause.ts'

const hasStatus =
  (...statuses: readonly number[]) =>
  ({ status }: FailureFacts) =>
    status !== undefined && statuses.includes(status)

/** TLS certificates and connections, of a URL or of what a program connects to. */
export const tls: readonly Cause[] = [
  {
    id: 'tls_expired',
    summary: 'The TLS certificate has expired.',
    nextStep: 'Renew the certificate of the server, and check the clock of this machine.',
    stderr: /certificate has expired|CERT_HAS_EXPIRED|invalid peer certificate: Expired/,
    when: hasCode(/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/)
  },
  {
    id: 'tls_host_name',
    summary: 'The TLS certificate is for another host name.',
    nextStep: 'Use a host name that the certificate contains.',
    stderr: /ERR_TLS_CERT_ALTNAME_INVALID|hostname mismatch|does not match certificate|NotValidForName/i,
    when: hasCode(/^ERR_TLS_CERT_ALTNAME_INVALID$/)
  },
  {
    id: 'tls_untrusted',
    summary: 'The TLS certificate is self-signed, or its authority is unknown here.',
    nextStep:
      'Start the gateway with `NODE_EXTRA_CA_CERTS=<file>` that contains the authority; for a stdio server, set `NODE_EXTRA_CA_CERTS` or `SSL_CERT_FILE` in its variables.',
    stderr:
      /self[- ]signed certificate|SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)|invalid peer certificate|CERTIFICATE_VERIFY_FAILED|certificate signed by unknown authority/i,
    when: hasCode(/SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET_ISSUER)/)
  },
  {
    id: 'tls_failed',
    summary: 'No TLS connection can be made.',
    nextStep: 'Check that the port speaks https; use http:// in the URL if it does not.',
    stderr: /ERR_SSL_|wrong version number/i,
    when: hasCode(/^(ERR_SSL_|EPROTO$)/)
  }
]

/** A server with a URL. */
export const network: readonly Cause[] = [
  {
    id: 'wrong_transport',
    summary: 'The server speaks the older transport, HTTP+SSE.',
    nextStep: 'Register it with the transport `sse`.',
    when: hasCode(/^sse$/)
  },
  {
    id: 'html_answer',
    summary: 'A web page answered instead of an MCP server.',
    nextStep: 'Use the URL of the MCP endpoint, which often ends in /mcp or /sse, instead of the web site.',
    when: hasCode(/^html$/)
  },
  {
    id: 'credentials_missing',
    summary: 'The server demands a login.',
    nextStep: 'Give a bearer token or an `Authorization` header, or sign in with OAuth.',
    when: ({ reason, status, message }) => reason === 'auth' && status === 401 && message.startsWith('demands')
  },
  {
    id: 'token_rejected',
    summary: 'The server rejects the credentials.',
    nextStep: 'Replace the token or header by a valid one; check that it belongs to this server.',
    when: ({ reason, status }) => reason === 'auth' && status !== 403
  },
  {
    id: 'scopes_missing',
    summary: 'The server asks for more scopes than the sign-in has.',
    nextStep: 'Register the server again with these scopes, and those that it has, in `oauth_scopes`; then sign in.',
    when: ({ status, message }) => status === 403 && message.includes('the sign-in lacks the scopes')
  },
  {
    id: 'access_forbidden',
    summary: 'The server refuses access.',
    nextStep: 'Check what the token permits, and if the server only accepts certain addresses or hosts.',
    when: hasStatus(403)
  },
  {
    id: 'wrong_path',
    summary: 'There is nothing at this path of the URL.',
    nextStep: 'Check the path: most servers answer at /mcp, and older ones at /sse.',
    when: hasStatus(404, 410)
  },
  {
    id: 'wrong_method',
    summary: 'The URL does not accept this transport.',
    nextStep: 'Try the other transport, `streamable_http` or `sse`, and check the path of the URL.',
    when: hasStatus(405, 406, 415, 400)
  },
  {
    id: 'redirected',
    summary: 'The URL leads to another one.',
    nextStep: 'Register the other URL; often only the slash at the end, or https, is missing.',
    when: hasStatus(301, 302, 303, 307, 308)
  },
  {
    id: 'rate_limited',
    summary: 'The server limits the number of requests.',
    nextStep: 'Wait a minute and try again.',
    when: hasStatus(429)
  },
  {
    id: 'server_error',
    summary: 'The server, or a proxy before it, has a problem of its own.',
    nextStep: 'Read the log of the server; behind a proxy, check that the server runs.',
    when: hasStatus(500, 501, 502, 503, 504)
  },
  {
    id: 'connection_refused',
    summary: 'Nothing listens at the host and port of the URL.',
    nextStep:
      'Start the server and check the port; if the gateway runs in a container, `localhost` is the container: use the name of the host.',
    when: hasCode(/^ECONNREFUSED$/)
  },
  {
    id: 'host_not_found',
    summary: 'The host name of the URL does not resolve.',
    nextStep: 'Check the spelling of the host, and that the gateway can resolve it.',
    when: hasCode(/^(ENOTFOUND|EAI_AGAIN)$/)
  },
  {
    id: 'host_unreachable',
    summary: 'The host of the URL cannot be reached.',
    nextStep: 'Check the network, firewall and VPN between the gateway and the host.',
    when: hasCode(/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/)
  },
  {
    id: 'connection_lost',
    summary: 'The server closed the connection instead of answering.',
    nextStep: 'Check http or https, the port, and the log of the server.',
    when: hasCode(/^(ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_\w+)$/)
  },
  {
    id: 'no_answer',
    summary: 'The server does not answer in time.',
    nextStep:
      'Check that the URL is an MCP endpoint and that the server is not overloaded; `TOWPATH_CONNECT_TIMEOUT_MS` sets the limit.',
    when: ({ reason }) => reason === 'timeout'
  }
]
