import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { freshDataDir, addCleanup } from '../store.ts'
import { cellsOf, firstOf } from '../matrix.ts'
import { until } from '../until.ts'
import { cleanEnv, hasBuild, root, run } from './harness.ts'
import { freePort } from '../ports.ts'
import { cloneProject } from './pages.ts'
import { isAlive } from './process-tree.ts'

/** A clone of the sources, and a project that depends on it. */
let clone = ''
let dependent = ''
before(async () => {
  clone = await mkdtemp(join(tmpdir(), 'towpath-clone-'))
  dependent = await mkdtemp(join(tmpdir(), 'towpath-dependent-'))
  await cloneProject(clone)
  // younger than the sources of the clone, so that nothing is built again
  if (hasBuild()) await cp(join(root, 'dist'), join(clone, 'dist'), { recursive: true })
  spawnSync(process.execPath, ['scripts/build-if-stale.mjs'], { cwd: clone })
  // as npm does on installation
  await chmod(join(clone, 'dist/src/cli/main.js'), 0o755)
  await mkdir(join(dependent, 'node_modules/.bin'), { recursive: true })
  await writeFile(join(dependent, 'package.json'), '{"private":true,"scripts":{"gateway":"towpath start"}}')
  await symlink(clone, join(dependent, 'node_modules/towpath'))
  await symlink('../towpath/dist/src/cli/main.js', join(dependent, 'node_modules/.bin/towpath'))
})
after(async () => {
  for (const folder of [clone, dependent]) await rm(folder, { recursive: true, force: true })
})

const commands = {
  'npm start': () => ({ args: ['start'], cwd: clone }),
  'npx towpath start': () => ({ args: ['exec', '--', 'towpath', 'start'], cwd: dependent }),
  'npm run, in a project that depends on it': () => ({ args: ['run', 'gateway'], cwd: dependent })
}

/** Starts a gateway through npm, in its own process group, with a request in flight. */
async function startByNpm(t: TestContext, command: keyof typeof commands) {
  const { args, cwd } = commands[command]()
  const [port, dataDir] = [await freePort(), await freshDataDir(t)]
  const env = { ...cleanEnv(), PORT: String(port), TOWPATH_DATA_DIR: dataDir, TOWPATH_DRAIN_TIMEOUT_MS: '3600000' }
  const npm = run(t, 'npm', args, { cwd, env, detached: true })
  const url = `http://127.0.0.1:${port}`
  addCleanup(t, () => {
    try {
      process.kill(-npm.pid, 'SIGKILL')
    } catch {
      // every process has ended
    }
  })
  let code: number | string | undefined
  void npm.exited.then((ended) => (code = ended))
  await until('the gateway', async () => code !== undefined || (await fetch(`${url}/ready`)).ok)
  assert.equal(code, undefined, npm.output())
  const pid: number = JSON.parse(readFileSync(join(dataDir, 'lock'), 'utf8')).pid

  const socket = connect(port, '127.0.0.1').on('error', () => {})
  addCleanup(t, () => void socket.destroy())
  socket.write('POST /init HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n')
  await until('the request to have begun', async () => (await fetch(`${url}/health`)).ok)
  return { npm, pid, url, dataDir, finish: () => socket.write('{}') }
}

type Gateway = Awaited<ReturnType<typeof startByNpm>>

async function assertDrainsAndEnds({ npm, pid, url, dataDir, finish }: Gateway): Promise<void> {
  await until('the gateway to drain', () => npm.output().includes('waiting for requests in progress'))
  // the signal may arrive twice: from the terminal, and from npm
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.ok(isAlive(pid), `a request under way is waited for: ${npm.output()}`)
  finish()
  await until('the gateway to end', () => !isAlive(pid))
  assert.ok(!existsSync(join(dataDir, 'lock')), 'the data folder is given back')
  await assert.rejects(fetch(`${url}/health`), 'the port is free')
}

const all = Object.keys(commands) as (keyof typeof commands)[]

// the shell that npm puts between waits for the gateway, and npm for the shell: nothing ends, nothing is orphaned
for (const [signal, command] of [...cellsOf(['SIGTERM', 'SIGHUP', 'SIGKILL'], all), ['SIGINT', 'npm start']] as const) {
  test(`CR-A4: ${signal} to npm alone ends the gateway as usual: ${command}`, async (t) => {
    const gateway = await startByNpm(t, command)
    process.kill(gateway.npm.pid, signal)
    await assertDrainsAndEnds(gateway)
  })
}

for (const command of firstOf(all)) {
  test(`CR-A4: Ctrl-C, which a terminal sends to all of them, ends the gateway as usual: ${command}`, async (t) => {
    const gateway = await startByNpm(t, command)
    process.kill(-gateway.npm.pid, 'SIGINT')
    await assertDrainsAndEnds(gateway)
  })
}

test('CR-A4: npm start ends after the gateway, so that what waits for npm finds port and folder free', async (t) => {
  const gateway = await startByNpm(t, 'npm start')
  process.kill(gateway.npm.pid, 'SIGTERM')
  await until('the gateway to drain', () => gateway.npm.output().includes('waiting for requests in progress'))
  gateway.finish()
  await gateway.npm.exited
  assert.ok(!isAlive(gateway.pid), 'the gateway has ended before npm')
})
