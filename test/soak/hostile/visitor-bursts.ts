import { legacyBody } from '../../integration/mcp-messages.ts'
import {
  sendHalfClosed,
  head,
  json,
  sendAndReset,
  post,
  postText,
  send,
  times,
  sendWithoutReading,
  type Burst
} from './wire.ts'

const documents = [
  '/docs/static/swagger-ui-bundle.js',
  '/docs/static/swagger-ui.css',
  '/openapi.json',
  '/docs/static/index.html'
]
const long = 'a'.repeat(4_000_000)

/** Malformed HTTP/1.1 requests. */
const odd = [
  'GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: xchunked\r\n\r\n',
  'GET /health HTTP/1.1\nHost: 127.0.0.1\n\n',
  'GET http://elsewhere.example/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  'GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 4000000\r\n\r\n',
  'GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  'TRACE / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
  'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: \u0000\r\n\r\n'
]
const chunked =
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'

const paths = [
  '/%2e%2e/%2e%2e/etc/passwd',
  '/docs/static/..%2f..%2fetc/passwd',
  '/api/v0/servers/%00',
  `/${'a/'.repeat(3_000)}`,
  '/upstream_oauth/callback?state=x&code=y',
  '/api/v0/upstream_oauth/callback?state=%0d%0aset-cookie:x&error=<script>',
  '/init',
  '/metrics',
  '/mcp/groups/__proto__',
  '/message?sessionId=constructor'
]

/** Attacks by a visitor without a token. */
export const ofVisitor: Readonly<Record<string, Burst>> = {
  'static documents that nobody reads': (aim) =>
    sendWithoutReading(
      aim,
      100,
      documents
        .map((path) => head(aim, 'GET', path))
        .join('')
        .repeat(2)
    ),
  'slow headers': (aim) => sendWithoutReading(aim, 100, 'GET /health HTTP/1.1\r\n', 'x: y\r\n'),
  'slow chunks': (aim) => sendWithoutReading(aim, 60, chunked, '1\r\na\r\n'),
  'chunk extensions': (aim) =>
    sendWithoutReading(aim, 10, `${chunked}1;${'x'.repeat(15_000)}\r\na\r\n`, `1;${'x'.repeat(9_000)}\r\na\r\n`),
  'long trailers': (aim) => sendWithoutReading(aim, 10, `${chunked}1\r\na\r\n0\r\n`, `x: ${'y'.repeat(9_000)}\r\n`),
  'huge headers': (aim) => sendWithoutReading(aim, 20, head(aim, 'GET', '/health', { x: 'a'.repeat(200_000) })),
  'many headers': (aim) =>
    sendWithoutReading(aim, 20, `GET /health HTTP/1.1\r\nhost: x\r\n${'a:b\r\n'.repeat(3_000)}\r\n`),
  'bodies without a token': (aim) => times(4, () => post(aim, '/mcp', long)),
  'guesses of tokens': (aim) =>
    times(60, (at) => post({ ...aim, token: `guess-${at}-0123456789` }, '/mcp', legacyBody('ping'))),
  'tokens of 15 kB': (aim) => times(20, () => post({ ...aim, token: 't'.repeat(15_000) }, '/mcp', legacyBody('ping'))),
  'idle connections': (aim) => sendWithoutReading(aim, 600, ''),
  'connections that come and go': (aim) =>
    times(5, () => sendAndReset(aim, 60, head(aim, 'GET', documents[0]!), 5)).then(() => sendAndReset(aim, 60, '', 0)),
  'odd framing': (aim) => times(odd.length, (at) => sendWithoutReading(aim, 4, odd[at]!)),
  'half-closed sockets': (aim) =>
    times(4, (at) =>
      sendHalfClosed(
        aim,
        20,
        [head(aim, 'GET', documents[0]!), 'GET /', chunked, postText(aim, '/mcp', '{"jsonrpc"')][at]!
      )
    ),
  'long pipelines': (aim) => sendWithoutReading(aim, 20, head(aim, 'GET', '/health').repeat(400)),
  'pages of other origins': (aim) =>
    times(40, (at) =>
      send(
        aim,
        at % 2 === 0 ? 'OPTIONS' : 'POST',
        '/mcp',
        { ...json, origin: 'https://evil.example', 'access-control-request-method': 'POST' },
        at % 2 === 0 ? undefined : legacyBody('tools/list')
      )
    ),
  'paths and queries': (aim) =>
    times(40, (at) => send(aim, 'GET', `${paths[at % paths.length]}`, { range: 'bytes=0-0,1-1,2-' })),
  'new paths': (aim) => times(60, () => send(aim, 'GET', `/${Math.random()}/${Math.random()}`)),
  'documents without end': (aim) =>
    times(12, (at) =>
      sendAndReset(aim, 10, head(aim, 'GET', documents[at % 4]!, { 'accept-encoding': 'gzip, br' }), 50)
    )
}
