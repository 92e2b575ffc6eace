import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { readConfig } from '../../src/config/config.ts'
import { settings } from '../../src/config/settings.ts'
import { needs } from '../needs.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Service {
  readonly image: string
  readonly build?: { readonly context: string; readonly target: string }
  readonly depends_on?: Record<string, { condition: string }>
  readonly environment?: Record<string, string>
  readonly secrets?: readonly string[]
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly networks?: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly cap_add?: readonly string[]
  readonly user?: string
  readonly entrypoint?: readonly string[]
  readonly tmpfs?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly healthcheck?: { readonly test: readonly string[] }
}

interface Compose {
  readonly services: Record<string, Service>
  readonly networks?: Record<string, { internal?: boolean } | null>
  readonly secrets?: Record<string, { file?: string }>
  readonly volumes?: Record<string, unknown>
}

const byName = (a: string, b: string) => (a < b ? -1 : 1)

const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** Each file with its base files: paths are relative to the folder of the first one. */
const stacks: Readonly<Record<string, readonly string[]>> = {
  'docker-compose.yml': [],
  'deploy/compose.dev.yml': [],
  'deploy/compose.keycloak.yml': ['docker-compose.yml'],
  'deploy/compose.observability.yml': ['docker-compose.yml'],
  'deploy/compose.stdio.yml': ['docker-compose.yml']
}

/** Returns a file with its services merged over those of the same name in the base file, as Compose does it. */
const onTopOf = (below: Compose, compose: Compose): Compose => ({
  ...compose,
  volumes: { ...below.volumes, ...compose.volumes },
  secrets: { ...below.secrets, ...compose.secrets },
  services: Object.fromEntries(
    Object.entries(compose.services).map(([name, service]) => {
      const known = below.services[name]
      const environment = { ...known?.environment, ...service.environment }
      const build = known?.build && { ...known.build, ...service.build }
      const secrets = [...(known?.secrets ?? []), ...(service.secrets ?? [])]
      const ports = [...(known?.ports ?? []), ...(service.ports ?? [])]
      return [name, { ...known, ...service, environment, secrets, ports, ...(build ? { build } : {}) }]
    })
  )
})

const files = Object.entries(stacks).map(([file, below]) => ({
  file,
  stack: [...below, file],
  folder: dirname(join(root, below[0] ?? file)),
  compose: below[0] ? onTopOf(parse(read(below[0])), parse(read(file))) : (parse(read(file)) as Compose)
}))
const enterprise = files[0]!.compose
const composeOf = (name: string) => files.find(({ file }) => file === name)!.compose

/** In development mode Keycloak compiles its settings into its own folder. */
const writesAnywhere = new Set(['deploy/compose.keycloak.yml: keycloak'])

/** Returns the variables of a service as Compose expands them in an empty environment. */
const filledIn = ({ environment = {} }: Service): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, value.replace(/\$\{\w+:-(.*?)\}/g, '$1')])
  )

function makeSecrets(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'towpath-secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const made = spawnSync('sh', [join(root, 'deploy/make-secrets.sh'), join(folder, 'secrets')], { encoding: 'utf8' })
  assert.deepEqual([made.status, made.stdout, made.stderr], [0, '', ''])
  return join(folder, 'secrets')
}

test('these are all compose files that there are', () => {
  const found = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /compose[^/]*\.ya?ml$/.test(name))
    .map((name) => `deploy/${name}`)
  assert.deepEqual([...found, 'docker-compose.yml'].toSorted(byName), Object.keys(stacks).toSorted(byName))
})

for (const { file, folder, compose } of files) {
  for (const [name, service] of Object.entries(compose.services)) {
    test(`${file}: ${name} is checked for health, cannot gain rights, and writes only where it must`, () => {
      assert.equal(service.healthcheck?.test[0], 'CMD')
      assert.equal(service.read_only, !writesAnywhere.has(`${file}: ${name}`))
      assert.deepEqual(service.cap_drop, ['ALL'])
      assert.deepEqual(service.security_opt, ['no-new-privileges:true'])
    })

    test(`${file}: ${name} is built here or of one version`, () => {
      if (service.build) {
        assert.equal(resolve(folder, service.build.context), resolve(root))
        return assert.match(service.image, /^towpath:/)
      }
      assert.match(service.image, /^[\w./-]+:v?\d+(\.\d+)+$/)
    })

    test(`${file}: ${name} is reached from this machine only`, () => {
      for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/)
    })

    test(`${file}: ${name} has its secrets from files that make-secrets.sh writes, and none by default`, (t) => {
      const made = readdirSync(makeSecrets(t))
      for (const [variable, value] of Object.entries(service.environment ?? {})) {
        if (!/PASSWORD|TOKEN|SECRET|KEY|DATABASE_URL/.test(variable)) continue
        assert.match(variable, /_FILE$/)
        assert.ok(service.secrets?.includes(/^\/run\/secrets\/(\w+)$/.exec(value)?.[1] ?? ''), variable)
      }
      for (const secret of service.secrets ?? []) {
        assert.equal(compose.secrets?.[secret]?.file, `./secrets/${secret}`)
        assert.ok(made.includes(secret), secret)
      }
    })

    test(`${file}: ${name} waits for the health of others, and mounts what exists`, () => {
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        assert.ok(other in { ...enterprise.services, ...compose.services }, other)
        assert.equal(condition, 'service_healthy')
      }
      for (const [source = '', target = ''] of (service.volumes ?? []).map((volume) => volume.split(':'))) {
        assert.match(target, /^\//)
        const isThere = source.startsWith('.') ? existsSync(resolve(folder, source)) : source in (compose.volumes ?? {})
        assert.ok(isThere, source)
      }
    })
  }

  test(`${file}: Towpath starts with the settings that it is given`, () => {
    const { towpath } = compose.services
    if (!towpath) return assert.equal(file, 'deploy/compose.observability.yml')
    const secret: Record<string, string> = {
      '/run/secrets/database_password': 'pass/word',
      '/run/secrets/encryption_key': Buffer.alloc(32).toString('base64'),
      '/run/secrets/admin_token': 'a'.repeat(64),
      '/run/secrets/oidc_client_secret': 'b'.repeat(64)
    }
    const { config, warnings } = readConfig(filledIn(towpath), {}, (path) => secret[path]!)
    assert.deepEqual(warnings, [])
    const variables = new Set(Object.values(settings).flatMap(({ variable }) => [variable, `${variable}_FILE`]))
    for (const variable of Object.keys(towpath.environment ?? {})) {
      assert.ok(variables.has(variable) || variable === 'HOME', variable)
    }
    if (file !== 'deploy/compose.dev.yml') {
      assert.equal(config.mode, 'enterprise')
      assert.equal(config.databaseUrl, 'postgres://towpath:pass%2Fword@postgres:5432/towpath')
    } else {
      assert.deepEqual([config.mode, config.databaseUrl, config.demo], ['development', undefined, true])
    }
  })
}

test('the database is reached by Towpath alone, over a network without a way out', () => {
  const { towpath, postgres } = enterprise.services
  assert.equal(postgres!.ports, undefined)
  assert.deepEqual(postgres!.networks, ['store'])
  assert.equal(enterprise.networks!['store']!.internal, true)
  assert.ok(towpath!.networks!.includes('store'))
  assert.equal(towpath!.depends_on!['postgres']!.condition, 'service_healthy')
  const others = Object.values(composeOf('deploy/compose.observability.yml').services)
  assert.deepEqual([...new Set(others.flatMap(({ networks = [] }) => networks))], ['front'])
})

test('make-secrets.sh makes values that Towpath takes, in a closed folder, and keeps those that exist', (t) => {
  const folder = makeSecrets(t)
  const first = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  assert.equal(new Set(first).size, 6)
  for (const value of first) assert.match(value, /^([0-9a-f]{64}|[A-Za-z0-9+/]{43}=)\n$/)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  spawnSync('sh', [join(root, 'deploy/make-secrets.sh'), folder])
  assert.deepEqual(
    readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8')),
    first
  )
  assert.match(read('.gitignore'), /^\/secrets\/$/m)
})

test('Towpath and Keycloak have each other’s addresses, and no person of its realm has a password of a real one', () => {
  const { towpath, keycloak } = composeOf('deploy/compose.keycloak.yml').services
  const { environment = {} } = towpath!
  const realm = JSON.parse(read('deploy/keycloak/towpath-realm.json'))
  const issuer = new URL(environment['TOWPATH_OIDC_ISSUER']!)
  assert.equal(issuer.origin, keycloak!.environment!['KC_HOSTNAME'])
  assert.equal(issuer.port, keycloak!.environment!['KC_HTTP_PORT'])
  assert.equal(issuer.pathname, `/realms/${realm.realm}`)
  assert.equal(keycloak!.environment!['TOWPATH_PUBLIC_URL'], environment['TOWPATH_PUBLIC_URL'])
  const [client] = realm.clients
  assert.equal(client.clientId, environment['TOWPATH_OIDC_CLIENT_ID'])
  assert.deepEqual(
    [client.secret, client.redirectUris],
    ['${OIDC_CLIENT_SECRET}', ['${TOWPATH_PUBLIC_URL}/auth/callback']]
  )
  for (const { username, credentials } of realm.users) {
    assert.equal(credentials[0].value, `example-password-of-${username}`)
  }
})

const composeCommand = [['docker', 'compose'], ['docker-compose']].find(
  ([command = '', ...args]) => spawnSync(command, [...args, 'version']).status === 0
)
const noCompose = needs('Compose: `docker compose` or `docker-compose`', composeCommand !== undefined)

for (const { stack } of files) {
  test(`${stack.join(' with ')} is accepted by Compose`, { skip: noCompose }, () => {
    const [command = '', ...args] = composeCommand!
    const given = stack.flatMap((file) => ['-f', join(root, file)])
    const { status, stderr } = spawnSync(command, [...args, ...given, 'config', '-q'], { encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, ''])
  })
}

for (const { file, compose } of files.filter(({ compose }) => compose.services['towpath'])) {
  test(`SR-M9 ${file}: stdio servers are off in enterprise mode unless they have a user of their own`, () => {
    const { environment = {}, cap_add = [], user, entrypoint = [], tmpfs = [] } = compose.services['towpath']!
    const files = new Map([['/run/secrets/encryption_key', Buffer.alloc(32).toString('base64')]])
    const { config } = readConfig(
      filledIn(compose.services['towpath']!),
      {},
      (path) => files.get(path) ?? 'x'.repeat(32)
    )
    if (config.mode === 'development' || !config.stdio.enabled) return assert.equal(user, undefined)
    const { uid, gid } = config.stdio
    assert.deepEqual([uid, gid], [10_001, 10_001])
    assert.deepEqual(cap_add, ['SETUID', 'SETGID', 'KILL', 'SETPCAP'])
    assert.deepEqual([user, entrypoint[0]], ['0:0', 'setpriv'])
    assert.ok(entrypoint.includes('--reuid=1000') && entrypoint.includes('--clear-groups'), entrypoint.join(' '))
    assert.ok(tmpfs.some((place) => place.startsWith(`${environment['HOME']}:`) && place.includes(`uid=${uid}`)))
  })
}

test('SR-M9 enterprise mode as it is shipped starts no stdio server, and a file adds them with a user', () => {
  assert.equal(enterprise.services['towpath']!.environment!['TOWPATH_STDIO'], 'off')
  assert.ok('deploy/compose.stdio.yml' in stacks)
  const page = read('docs/how-to/containers.md')
  for (const [, target = ''] of page.matchAll(/\]\((\.\.[^)#]+)\)/g)) {
    assert.ok(existsSync(join(root, 'docs/how-to', target)), target)
  }
})
