import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { cleanEnv, request, root, run } from '../e2e/harness.ts'
import { freePort } from '../ports.ts'
import { cloneProject } from '../e2e/pages.ts'
import { tempDir } from '../store.ts'
import { until } from '../until.ts'

const execute = promisify(execFile)

/** An empty home, and the packages that `npm ci` has fetched before. */
const environment = (home: string) => ({
  ...cleanEnv(),
  HOME: home,
  npm_config_cache: process.env['npm_config_cache'] ?? join(homedir(), '.npm'),
  npm_config_prefer_offline: 'true',
  // a machine may reach the registry through a proxy with an own authority
  ...(process.env['NODE_EXTRA_CA_CERTS'] && { NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'] })
})

/** A clone in which the package is packed, and a prefix into which it is installed. */
let folder = ''
let tarball = ''
let installation = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'towpath-package-'))
  await cloneProject(join(folder, 'clone'))
  for (const name of ['README.md', 'LICENSE', '.npmrc']) await cp(join(root, name), join(folder, 'clone', name))
  const env = environment(join(folder, 'home'))
  await execute('npm', ['pack', '--pack-destination', folder], { cwd: join(folder, 'clone'), env })
  tarball = join(
    folder,
    (await readdir(folder)).find((name) => name.endsWith('.tgz'))!
  )
  const { stdout, stderr } = await execute(
    'npm',
    ['install', '--global', '--prefix', join(folder, 'prefix'), tarball],
    {
      cwd: folder,
      env
    }
  )
  installation = stdout + stderr
})
after(() => rm(folder, { recursive: true, force: true }))

/** Returns the bytes of all files below a folder. */
async function sizeOf(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const sizes = entries.filter((entry) => entry.isFile()).map((entry) => stat(join(entry.parentPath, entry.name)))
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0)
}

test('the package holds the build, the licence and the README, and depends on what the build does not bundle', async () => {
  const { stdout } = await execute('tar', ['--list', '--file', tarball])
  const files = stdout.trim().split('\n')
  const others = files.filter((name) => !name.startsWith('package/dist/'))
  assert.deepEqual(others.toSorted(), ['package/LICENSE', 'package/README.md', 'package/package.json'])
  assert.deepEqual(
    files.filter((name) => /\.(ts|tsx|map)$/.test(name)),
    []
  )
  const installed = join(folder, 'prefix/lib/node_modules/towpath')
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  assert.deepEqual(Object.keys(manifest.dependencies), ['@electric-sql/pglite'])
  for (const name of ['scripts', 'devDependencies', 'overrides']) assert.ok(!(name in manifest), name)
  for (const name of ['repository', 'homepage', 'bugs', 'engines']) assert.ok(name in manifest, name)
  const original = await readFile(join(root, 'package.json'), 'utf8')
  assert.equal(await readFile(join(folder, 'clone/package.json'), 'utf8'), original, 'packing puts package.json back')
})

test('a global installation warns of nothing and is small', async () => {
  assert.doesNotMatch(installation, /warn/i)
  const size = await sizeOf(join(folder, 'prefix'))
  assert.ok(size < 60_000_000, `${size} bytes`)
})

test("towpath start --demo works from an empty folder and keeps its data in the platform's place", async (t) => {
  const [home, cwd, port] = [await tempDir(t), await tempDir(t), await freePort()]
  const env = { ...environment(home), PORT: String(port) }
  const gateway = run(t, join(folder, 'prefix/bin/towpath'), ['start', '--demo'], { cwd, env })
  const url = `http://127.0.0.1:${port}`
  const isReady = async () => gateway.child.exitCode !== null || (await fetch(`${url}/ready`)).ok
  await until('the gateway to be ready', isReady)
  for (const path of ['/', '/docs', '/docs/static/swagger-ui-bundle.js', '/openapi.json']) {
    assert.equal((await request(url + path, 'GET')).status, 200, path + gateway.output())
  }
  const sum = await request(`${url}/api/v0/tools/invoke`, 'POST', { name: 'demo__add', a: 2, b: 40 })
  assert.deepEqual(sum.body?.structuredContent, { sum: 42 }, sum.text + gateway.output())

  const data =
    process.platform === 'darwin'
      ? join(home, 'Library/Application Support/Towpath')
      : join(home, '.local/share/towpath')
  assert.ok(gateway.output().includes(`embedded, in ${data}`), gateway.output())
  assert.equal((await stat(data)).mode & 0o777, 0o700)
  assert.deepEqual((await readdir(data)).toSorted(), ['encryption.key', 'lock', 'postgres'])
  assert.deepEqual(await readdir(cwd), [], 'the working directory stays empty')
  const doctor = run(t, join(folder, 'prefix/bin/towpath'), ['--registry', url, 'doctor'], { cwd, env })
  await doctor.exited
  assert.ok(doctor.output().includes(`is in ${data.replace(home, '~')}\n`), doctor.output())
  assert.equal(await gateway.stop(), 0, gateway.output())
})
