import { copyFile, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { start, waitUntilReady } from '../conformance/processes.ts'
import { root } from '../e2e/harness.ts'
import { freePort } from '../ports.ts'
import type { Provider } from '../fixtures/identity-provider/gateway.ts'
import { prepareFrom, run } from '../prepared.ts'

const VERSION = '26.7.5'
const ADMIN_PASSWORD = 'a password of the test'
const START_MS = 600_000

/** The realm of `deploy/compose.keycloak.yml`. */
const realm = join(root, 'deploy/keycloak/towpath-realm.json')
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), `towpath/keycloak-${VERSION}`)

/** A running Keycloak with the realm of `deploy/keycloak`. */
export interface Keycloak extends Provider {
  /** Sends a request to the administration of the realm. Rejects unless it succeeds. */
  admin(method: string, path: string, body?: object): Promise<any>
  /** Returns the id of the group or the user with this name. */
  idOf(path: 'groups' | 'users', name: string): Promise<string>
  stop(): Promise<void>
}

/** Fetches Keycloak from the Maven repository, once (174 MB). Throws if that is impossible. */
async function fetchKeycloak(): Promise<string> {
  const failure = await prepareFrom(cache, [], async (folder) => {
    if ((await run('java', ['-version'])) !== undefined) return 'needs Java 17 or newer, such as default-jre-headless'
    if ((await run('mvn', ['-version'])) !== undefined) return 'needs Maven, such as the Debian package maven'
    await rm(folder, { recursive: true, force: true })
    const artifact = `org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`
    const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.9.0:unpack'
    return run('mvn', ['-q', '-B', goal, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`])
  })
  if (failure !== undefined) throw new Error(`Keycloak ${VERSION} cannot be fetched: ${failure}`)
  return join(cache, `keycloak-${VERSION}`)
}

/** Makes a folder in which Keycloak may write: it compiles its settings into its own files. */
async function createHome(): Promise<string> {
  const [program, home] = [await fetchKeycloak(), await mkdtemp(join(tmpdir(), 'towpath-keycloak-'))]
  await cp(program, home, { recursive: true })
  const imports = join(home, 'data/import')
  await mkdir(imports, { recursive: true })
  await copyFile(realm, join(imports, 'towpath-realm.json'))
  return home
}

async function readBody(response: Response): Promise<any> {
  const text = await response.text()
  if (!response.ok) throw new Error(`Keycloak answered ${response.status} to ${response.url}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

function createAdministration(base: string): Keycloak['admin'] {
  const fields = { client_id: 'admin-cli', grant_type: 'password', username: 'admin', password: ADMIN_PASSWORD }
  return async (method, path, body) => {
    const signedIn = await fetch(`${base}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(fields)
    })
    const { access_token: token } = await readBody(signedIn)
    const response = await fetch(`${base}/admin/realms/towpath${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) })
    })
    return readBody(response)
  }
}

/**
 * Starts Keycloak on a free loopback port for a gateway at `publicUrl`. Takes a minute, several on a busy machine. Throws
 * with its output if it does not start.
 */
export async function startKeycloak(publicUrl: string): Promise<Keycloak> {
  const [home, port] = [await createHome(), await freePort()]
  const [base, clientSecret] = [`http://127.0.0.1:${port}`, 'the secret of the test client']
  const options = ['--http-host=127.0.0.1', `--http-port=${port}`, '--db=dev-mem', '--import-realm']
  const running = start(join(home, 'bin/kc.sh'), ['start-dev', ...options], {
    JAVA_OPTS_KC_HEAP: '-Xmx512m',
    KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
    KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN_PASSWORD,
    OIDC_CLIENT_SECRET: clientSecret,
    TOWPATH_PUBLIC_URL: publicUrl
  })
  const stop = async () => {
    await running.stop()
    await rm(home, { recursive: true, force: true })
  }
  const issuer = `${base}/realms/towpath`
  try {
    await waitUntilReady(running, async () => (await fetch(issuer)).ok, START_MS)
  } catch (error) {
    await stop()
    throw error
  }
  const admin = createAdministration(base)
  return {
    issuer,
    clientId: 'towpath',
    clientSecret,
    credentials: (username) => ({ username, password: `example-password-of-${username}` }),
    admin,
    async idOf(path, name) {
      const found: readonly { id: string; name?: string; username?: string }[] = await admin('GET', `/${path}`)
      const match = found.find((each) => each.name === name || each.username === name)
      if (!match) throw new Error(`Keycloak has no ${path} "${name}"`)
      return match.id
    },
    stop
  }
}
