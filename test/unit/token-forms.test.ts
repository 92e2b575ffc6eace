import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maskSecrets, maskSecretText } from '../../src/domain/secrets/redaction.ts'
import { maskArguments } from '../../src/domain/secrets/secret-parts.ts'

/** Letters and digits without meaning, of any length. */
const drawn = (length: number) => 'aB3dE5gH7jK9mN1pQ3sT5vW7'.repeat(10).slice(0, length)
const hex = (length: number) => '8f14e45fceea167a5a36dedd4bea2543'.repeat(4).slice(0, length)
const upper = (length: number) => 'QZ7ABKL2MN3PRST4'.repeat(8).slice(0, length)

/** Beginnings and the rest apart, so that no scanner takes this file for a leak. */
const tokens: readonly (readonly [start: string, rest: string])[] = [
  ['twp', `_${drawn(32)}`],
  ['ghp', `_${drawn(36)}`],
  ['gho', `_${drawn(36)}`],
  ['ghs', `_${drawn(36)}`],
  ['github', `_pat_${drawn(22)}_${drawn(59)}`],
  ['glpat', `-${drawn(20)}`],
  ['glpat', `-${drawn(27)}.01.${drawn(9)}`],
  ['sk', `-${drawn(48)}`],
  ['sk', `-proj-${drawn(20)}_${drawn(20)}-x`],
  ['sk', `-ant-api03-${drawn(60)}`],
  ['sk', `_live_${drawn(24)}`],
  ['rk', `_test_${drawn(24)}`],
  ['whsec', `_${drawn(32)}`],
  ['AKIA', upper(16)],
  ['ASIA', upper(16)],
  ['xoxb', `-123456789012-123456789012-${drawn(24)}`],
  ['xoxp', `-1-2-3-${drawn(32)}`],
  ['xapp', `-1-A0123456789-1234567890-${hex(64)}`],
  ['AIza', drawn(35)],
  ['ya29', `.${drawn(60)}`],
  ['npm', `_${drawn(36)}`],
  ['pypi', `-AgEIcHlwaS5vcmc${drawn(60)}`],
  ['hf', `_${drawn(34)}`],
  ['dckr', `_pat_${drawn(27)}`],
  ['dop', `_v1_${hex(64)}`],
  ['SG', `.${drawn(22)}.${drawn(43)}`],
  ['hvs', `.${drawn(24)}`],
  ['shpat', `_${hex(32)}`],
  ['dapi', hex(32)],
  ['lin', `_api_${drawn(40)}`],
  ['ntn', `_${drawn(46)}`],
  ['ATATT3', drawn(180)],
  ['glsa', `_${drawn(32)}_${hex(8)}`],
  ['gsk', `_${drawn(52)}`],
  ['tvly', `-${drawn(32)}`],
  ['sbp', `_${hex(40)}`],
  ['123456789', `:${drawn(35)}`],
  ['AGE-SECRET-KEY-1', upper(58)],
  ['eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9', `.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${drawn(43)}`]
]
const pem = (kind: string, separator: string) =>
  ['-----BEGIN', `${kind}PRIVATE KEY-----`].join(' ') +
  `${separator}${drawn(64)}${separator}-----END ${kind}PRIVATE KEY-----`

test('well-known tokens are masked wherever they stand in a text, and the text around them stays', () => {
  for (const token of tokens.map((parts) => parts.join(''))) {
    for (const [before, after] of [
      ['', ''],
      ['the key ', ' is not valid'],
      ['"', '"'],
      ['key=', '&b=1'],
      ['(', ')'],
      ['"', '\\n"']
    ]) {
      assert.equal(maskSecretText(`${before}${token}${after}`), `${before}***${after}`, token)
    }
    assert.deepEqual(maskSecrets([{ text: `{"message":"${token}"}` }]), [{ text: '{"message":"***"}' }])
    assert.deepEqual(Object.keys(maskSecrets({ [token]: 1 }) as object), ['***'])
    assert.deepEqual(maskArguments(['x', token, `--x=${token}`]), ['x', '***', '--x=***'])
  }
})

test('private keys, passwords in URLs and `password=…` are masked in a text', () => {
  for (const kind of ['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ']) {
    for (const separator of ['\n', '\\n'])
      assert.equal(maskSecretText(`key: ${pem(kind, separator)} end`), 'key: *** end')
  }
  const cut = pem('RSA ', '\n').slice(0, 80)
  assert.equal(maskSecretText(`key: ${cut}`), 'key: ***')
  for (const [text, shown] of [
    ['connecting to postgres://app:SENT@db:5432/x failed', 'connecting to postgres://***@db:5432/x failed'],
    ['redis://:SENT@h, http://a:SE@NT@h/p?q=1', 'redis://***@h, http://***@h/p?q=1'],
    [String.raw`{\"url\":\"https:\/\/u:SENT@h\/x\"}`, String.raw`{\"url\":\"https:\/\/***@h\/x\"}`],
    ['Server=db;Password=SENT;Port=1', 'Server=db;Password=***;Port=1'],
    ['?api_key=SENT&x=1 and PGPASSWORD="SE NT" x', '?api_key=***&x=1 and PGPASSWORD="***" x'],
    ['Authorization: Bearer SENT-SENT', 'Authorization: Bearer ***']
  ])
    assert.equal(maskSecretText(text!), shown)
})

test('ordinary words, addresses and identifiers stay as they are', () => {
  for (const text of [
    'the task-force-of-the-department met, disk-utilisation-report-2024',
    'ask_for_the_next_page_of_results, risk-assessment-of-the-year',
    'https://example.com/a@b and mail me@example.com',
    'unexpected token = in line 3, invalid token: expected }',
    'npm_config_registry, hf_hub, AKIA, sk-1, xoxo',
    'commit 8f14e45fceea167a5a36dedd4bea25438f14e45f at 12:34:56'
  ])
    assert.equal(maskSecretText(text), text)
})

test('flags and variables of passwords, keys and users are masked in arguments', () => {
  for (const [args, shown] of [
    [
      ['-u', 'admin:SENT', '--user', 'a:SENT', '--user=a:SENT', '-uadmin:SENT'],
      ['-u', 'admin:***', '--user', 'a:***', '--user=a:***', '-uadmin:***']
    ],
    [
      ['--pass', 'SENT', '--pwd=SENT', '--auth', 'SENT', '--key', 'SENT', '--basic-auth=SENT', '-pass=SENT'],
      ['--pass', '***', '--pwd=***', '--auth', '***', '--key', '***', '--basic-auth=***', '-pass=***']
    ],
    [
      ['-e', 'PGPASSWORD=SENT', '-e', 'PGPASS=SENT', '--env=DB_PASS=SENT', '-eREDIS_PWD=SENT', '--env', 'SSH_KEY=SENT'],
      ['-e', 'PGPASSWORD=***', '-e', 'PGPASS=***', '--env=DB_PASS=***', '-eREDIS_PWD=***', '--env', 'SSH_KEY=***']
    ],
    [['--env=URL=http://u:SENT@h/p'], ['--env=URL=http://***']],
    [
      ['sh', '-c', 'curl -u me:SENT https://h', 'psql postgres://u:SENT@h/x', 'x --pass SENT', 'PGPASS=SENT psql'],
      ['sh', '-c', 'curl -u me:***', 'psql postgres://***', 'x --pass ***', 'PGPASS=***']
    ],
    [
      [
        '-u',
        '1000:1000',
        '-u',
        'script.py',
        '--no-auth',
        'stdio',
        '--auth',
        '--port=80',
        '--keyboard',
        'de',
        '-v',
        '/a:/b'
      ],
      [
        '-u',
        '1000:1000',
        '-u',
        'script.py',
        '--no-auth',
        'stdio',
        '--auth',
        '--port=80',
        '--keyboard',
        'de',
        '-v',
        '/a:/b'
      ]
    ]
  ] as const) {
    assert.deepEqual(maskArguments(args), shown)
    assert.deepEqual(maskArguments(shown), shown)
  }
})

/** Returns the processor time of some work in milliseconds: other processes do not count. */
const timeOf = (work: () => void): number => {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}

/** Returns true if sixteen times the text takes less than eighty times as long, in one of several attempts. */
function isLinear(mask: (text: string) => unknown, unit: string): boolean {
  const [short, long] = [8_000, 128_000].map((length) => unit.repeat(length / unit.length))
  return Array.from({ length: 20 }).some(
    () =>
      timeOf(() => mask(long!)) <
      80 *
        Math.max(
          timeOf(() => mask(short!)),
          0.5
        )
  )
}

test('masks take time in proportion to the text, whatever it repeats', () => {
  const units = [
    ...tokens.flatMap(([start, rest]) => [start, start + rest.slice(0, 4), `${start}-`, `-${start}.`]),
    '-----BEGIN RSA ',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN A ',
    'eyJ-eyJ.',
    '://a',
    '://@',
    'a:@',
    'password=',
    'token="',
    ' a.token',
    'Bearer ',
    '12345678:',
    '-u a',
    '-u ',
    '--pass ',
    'A=',
    'PGPASS '
  ]
  for (const unit of units) {
    assert.ok(isLinear(maskSecretText, unit), unit)
    assert.ok(
      isLinear((text) => maskArguments([text, `--x=${text}`, '-u', text]), unit),
      unit
    )
  }
})
