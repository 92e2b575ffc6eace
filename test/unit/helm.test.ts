import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments } from 'yaml'
import { VERSION } from '../../src/domain/version.ts'
import { settings } from '../../src/config/settings.ts'
import { needs } from '../needs.ts'

const folder = fileURLToPath(new URL('../../deploy/helm/towpath/', import.meta.url))
const read = (path: string) => readFileSync(join(folder, path), 'utf8')
const templates = readdirSync(join(folder, 'templates'))
const all = templates.map((name) => read(`templates/${name}`)).join('\n')
const values = parse(read('values.yaml')) as Record<string, unknown>

const has = (path: string): boolean => {
  let at: unknown = values
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || !(name in at)) return false
    at = (at as Record<string, unknown>)[name]
  }
  return true
}

const leaves = (value: unknown, path = ''): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
    ? Object.entries(value).flatMap(([name, inner]) => leaves(inner, path === '' ? name : `${path}.${name}`))
    : [path]

test("the chart is of this version and has no default for what is the installation's own", () => {
  const chart = parse(read('Chart.yaml')) as Record<string, string>
  assert.deepEqual([chart['apiVersion'], chart['name'], chart['appVersion']], ['v2', 'towpath', VERSION])
  assert.equal(/password|kind: Secret/i.test(read('values.yaml') + all), false)
})

test('templates ask for values that exist, and every value is asked for', () => {
  const asked = new Set([...all.matchAll(/\.Values\.([\w.]+)/g)].map(([, path = '']) => path))
  for (const path of asked) assert.ok(has(path), path)
  for (const path of leaves(values)) {
    assert.ok(
      [...asked].some((one) => path === one || path.startsWith(`${one}.`)),
      path
    )
  }
})

test('templates include what is defined, and every block is ended', () => {
  const defined = new Set([...all.matchAll(/define "([\w.]+)"/g)].map(([, name]) => name))
  for (const [, name] of all.matchAll(/include "([\w.]+)"/g)) assert.ok(defined.has(name), name)
  for (const name of templates) {
    const text = read(`templates/${name}`)
    const opened = text.match(/\{\{-? *(if|with|range|define)\b/g)?.length ?? 0
    assert.equal(text.match(/\{\{-? *end\b/g)?.length ?? 0, opened, name)
  }
})

test('there is one template for each kind', () => {
  const kinds = [...all.matchAll(/^kind: (\w+)$/gm)].map(([, kind = '']) => kind)
  assert.deepEqual(
    kinds.toSorted((a, b) => (a < b ? -1 : 1)),
    [
      'Deployment',
      'HorizontalPodAutoscaler',
      'Ingress',
      'Job',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
      'ServiceMonitor'
    ]
  )
})

test('pods have settings that exist, no rights, and a root folder that they cannot write to', () => {
  const known = new Set(Object.values(settings).flatMap(({ variable }) => [variable, `${variable}_FILE`]))
  for (const [, name = ''] of all.matchAll(/- name: ([A-Z][A-Z_]+)$/gm))
    assert.ok(known.has(name) || name === 'HOME', name)
  for (const line of [
    'runAsNonRoot: true',
    'readOnlyRootFilesystem: true',
    'allowPrivilegeEscalation: false',
    'drop: [ALL]',
    'automountServiceAccountToken: false'
  ]) {
    assert.equal(
      all.split(`\n${line}`).length + all.split(` ${line}`).length - 2,
      line.startsWith('auto') ? 2 : 1,
      line
    )
  }
})

test('SR-M9 the chart starts no stdio server unless they have a user of their own', () => {
  assert.deepEqual(values['stdio'], { enabled: false, uid: 10_001 })
  const helpers = read('templates/_helpers.tpl')
  const [, on = '', off = ''] =
    /if \.Values\.stdio\.enabled \}\}\n  - name: (TOWPATH_STDIO_UID[\s\S]*?)\{\{- else if ([\s\S]*?)\{\{- end/.exec(
      helpers
    ) ?? []
  assert.match(on, /TOWPATH_STDIO_GID/)
  assert.match(off, /- name: TOWPATH_STDIO\n {4}value: 'off'/)
  assert.match(helpers, /add: \[SETUID, SETGID, KILL, SETPCAP\]/)
})

/** Paths intended only for the inside of a cluster. */
const inside = ['/metrics', '/init', '/docs', '/docs/', '/docs/static/swagger-ui.css', '/openapi.json']

test('SR-L1 the ingress publishes what callers need and nothing that is for the inside', () => {
  const { paths } = values['ingress'] as { paths: string[] }
  // the template publishes `/` without the paths below it
  const isPublished = (path: string) => paths.some((one) => path === one || (one !== '/' && path.startsWith(`${one}/`)))
  for (const path of [...inside, '/assets/x.js']) assert.equal(isPublished(path), false, path)
  for (const path of ['/mcp', '/sse', '/message', '/v0/groups/g/mcp', '/api/v0/servers', '/health', '/console/']) {
    assert.ok(isPublished(path), path)
  }
  for (const path of ['/auth/login', '/oauth/token', '/.well-known/oauth-protected-resource/mcp', '/']) {
    assert.ok(isPublished(path), path)
  }
  const template = read('templates/ingress.yaml')
  assert.deepEqual(
    [...template.matchAll(/path: (.*)$/gm)].map(([, path]) => path),
    ['{{ . | quote }}']
  )
  assert.match(template, /range \.Values\.ingress\.paths/)
  assert.match(template, /pathType: {{ eq \. "\/" \| ternary "Exact" "Prefix" }}/)
})

test('SR-L1 the proxy of deploy/nginx passes nothing on that is for the inside', () => {
  const conf = readFileSync(join(folder, '../../nginx/towpath.conf'), 'utf8')
  const [, pattern = ''] = /location ~ (\S+) \{\s+deny all;/.exec(conf) ?? []
  for (const path of inside) assert.match(path, new RegExp(pattern), path)
  for (const path of ['/mcp', '/docsx', '/api/v0/servers', '/']) assert.doesNotMatch(path, new RegExp(pattern), path)
})

test('SR-L1 with a key for the metrics token the gateway demands it and the Prometheus operator sends it', () => {
  assert.equal(values['metricsTokenKey'], '')
  assert.match(
    read('templates/_helpers.tpl'),
    /with \.Values\.metricsTokenKey \}\}\n {2}- name: TOWPATH_METRICS_TOKEN_FILE\n {4}value: \/run\/secrets\/towpath\/\{\{ \. \}\}\n/
  )
  assert.match(
    read('templates/servicemonitor.yaml'),
    /with \.Values\.metricsTokenKey \}\}\n {6}authorization:\n {8}credentials:\n {10}name: \{\{ \$\.Values\.existingSecret \}\}\n {10}key: \{\{ \. \}\}\n/
  )
})

const noHelm = needs('Helm', spawnSync('helm', ['version']).status === 0)

const helm = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync('helm', args, { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return stdout
}

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
}

const render = (...settings: string[]) =>
  parseAllDocuments(
    helm('template', 'mcp', folder, '--kube-version', '1.34.0', ...settings.flatMap((one) => ['--set', one]))
  ).map((document) => document.toJS() as Manifest)

test('Helm finds nothing wrong with the chart', { skip: noHelm }, () => {
  assert.match(helm('lint', '--strict', folder, '--kube-version', '1.34.0'), /0 chart\(s\) failed/)
})

test('the chart renders with its defaults, and with everything switched on', { skip: noHelm }, () => {
  const kinds = (manifests: Manifest[]) => manifests.map(({ kind }) => kind).toSorted((a, b) => (a < b ? -1 : 1))
  assert.deepEqual(kinds(render()), ['Deployment', 'Job', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'])
  const rendered = render(
    ...['autoscaling.enabled=true', 'ingress.enabled=true', 'serviceMonitor.enabled=true', 'ingress.tlsSecret=tls'],
    ...['serviceMonitor.labels.team=ai', 'publicUrl=https://mcp.example.com', 'settings.TOWPATH_STDIO=off'],
    ...['image.pullSecrets[0].name=pull', 'nodeSelector.disk=ssd', 'tolerations[0].operator=Exists'],
    ...['networkPolicy.from[0].podSelector.matchLabels.app=agent', 'networkPolicy.egress[0].ports[0].port=5432']
  )
  assert.equal(rendered.length, 8)
  for (const { metadata } of rendered) assert.match(metadata.name, /^mcp-towpath/)
})

/** Values of the variables of the gateway's container. */
const variablesWith = (...given: string[]): Record<string, string> => {
  const deployment = render(...given).find(({ kind }) => kind === 'Deployment') as unknown as {
    spec: { template: { spec: { containers: { env: { name: string; value: string }[] }[] } } }
  }
  const { env } = deployment.spec.template.spec.containers[0]!
  return Object.fromEntries(env.map(({ name, value }) => [name, value]))
}

test(
  'the chart switches the console on at a public address with TLS, unless the values say otherwise',
  { skip: noHelm },
  () => {
    const url = 'publicUrl=https://mcp.example.com'
    const on = variablesWith(url)
    assert.deepEqual([on['TOWPATH_CONSOLE'], on['TOWPATH_AUTH']], ['on', 'embedded'])
    assert.equal(variablesWith(url, 'settings.TOWPATH_CONSOLE=off')['TOWPATH_CONSOLE'], 'off')
    for (const other of [
      ['publicUrl=http://towpath.default.svc'],
      [url, 'console.enabled=false'],
      [url, 'settings.TOWPATH_AUTH=external']
    ]) {
      assert.equal(variablesWith(...other)['TOWPATH_CONSOLE'], undefined, other.join(' '))
    }
  }
)

const wrong = [
  'replicas=abc',
  'replica=3',
  'ingress.hosts=x',
  'service.port=0',
  'publicUrl=mcp.example.com',
  'stdio.uid=root'
]

for (const value of wrong) {
  test(`CR-F12: values that the chart does not have, or cannot use, are refused: ${value}`, { skip: noHelm }, () => {
    const { status, stderr } = spawnSync(
      'helm',
      ['template', 'mcp', folder, '--kube-version', '1.34.0', '--set', value],
      {
        encoding: 'utf8'
      }
    )
    assert.notEqual(status, 0, `${value} is taken`)
    assert.match(stderr, /schema/, `${value} is refused for another reason: ${stderr}`)
  })
}

test('CR-F12: the schema of the values names every value of values.yaml, and nothing else', () => {
  interface Schema {
    readonly properties?: Readonly<Record<string, Schema>>
    readonly additionalProperties?: boolean
  }
  const check = (schema: Schema, value: unknown, path: string): void => {
    if (!schema.properties) return
    assert.equal(schema.additionalProperties, false, `${path} takes misspelled members`)
    const names = Object.keys(schema.properties).filter((name) => `${path}.${name}` !== '.global')
    assert.deepEqual(names.toSorted(), Object.keys(value as object).toSorted(), `members of ${path || 'the values'}`)
    for (const name of names)
      check(schema.properties[name]!, (value as Record<string, unknown>)[name], `${path}.${name}`)
  }
  check(JSON.parse(read('values.schema.json')) as Schema, values, '')
})

test('CR-F12: pods have the affinity, annotations, variables and account of the values', { skip: noHelm }, () => {
  interface Pods {
    readonly metadata: { readonly annotations?: Record<string, string> }
    readonly spec: {
      readonly serviceAccountName: string
      readonly affinity?: object
      readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value?: string }[] }[]
    }
  }
  const settings = [
    ...['podAnnotations.team=ai', 'extraEnv[0].name=HTTPS_PROXY', 'extraEnv[0].value=http://proxy:3128'],
    ...['serviceAccount.create=true', 'serviceAccount.annotations.role=mcp'],
    'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key=disk'
  ]
  const manifests = render(...settings)
  const pods = manifests
    .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    .map((manifest) => (manifest as unknown as { spec: { template: Pods } }).spec.template)
  assert.equal(pods.length, 2, 'there are not two kinds of pods')
  for (const { metadata, spec } of pods) {
    assert.deepEqual(metadata.annotations, { team: 'ai' }, 'the annotations are not those of the values')
    assert.ok(spec.affinity, 'there is no affinity')
    assert.equal(spec.serviceAccountName, 'mcp-towpath', 'the account is another one')
    const variable = spec.containers[0]!.env.find(({ name }) => name === 'HTTPS_PROXY')
    assert.equal(variable?.value, 'http://proxy:3128', 'the variable is not there')
  }
  const account = manifests.find(({ kind }) => kind === 'ServiceAccount')
  assert.equal(account?.metadata.name, 'mcp-towpath', 'no account is made')
})

/** Renders the notes as another manifest, since Helm shows notes only with a cluster. */
function notes(t: TestContext, ...settings: string[]): string {
  const copy = mkdtempSync(join(tmpdir(), 'towpath-chart-'))
  t.after(() => rmSync(copy, { recursive: true }))
  cpSync(folder, copy, { recursive: true })
  const text = read('templates/NOTES.txt').replaceAll(/^/gm, '  ')
  writeFileSync(join(copy, 'templates/notes.yaml'), `kind: Notes\nmetadata: { name: notes }\ntext: |\n${text}`)
  const set = settings.flatMap((one) => ['--set', one])
  return helm('template', 'mcp', copy, '--kube-version', '1.34.0', '--show-only', 'templates/notes.yaml', ...set)
}

test('CR-F12: notes say where the endpoint is, and where the token', { skip: noHelm }, (t) => {
  const inside = notes(t)
  assert.match(inside, /port-forward service\/mcp-towpath 8080:8080/, 'the way to the service is not shown')
  assert.match(inside, /admin-token of the Secret towpath/, 'the place of the token is not named')
  const published = notes(t, 'ingress.enabled=true', 'ingress.tlsSecret=tls')
  assert.match(published, /https:\/\/mcp\.example\.com\/mcp/, 'the published address is not shown')
})

test('the page on Kubernetes shows the annotations and keys that the chart has', () => {
  const page = readFileSync(join(folder, '../../../docs/how-to/kubernetes.md'), 'utf8')
  const { annotations } = values['ingress'] as { annotations: Record<string, string> }
  const shown = [...page.matchAll(/^nginx\.ingress\.kubernetes\.io\/.*$/gm)].map(([line]) => parse(line))
  assert.equal(shown.length, 3)
  for (const one of shown) for (const [name, value] of Object.entries(one)) assert.equal(annotations[name], value, name)
  for (const [, key = ''] of page.matchAll(/--from-literal=([\w-]+)=/g)) assert.ok(all.includes(`/${key}\n`), key)
  for (const [, path = ''] of page.matchAll(/--set ([\w.]+)=/g)) assert.ok(has(path), path)
})
