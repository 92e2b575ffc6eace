import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { createLauncher, type LaunchOptions } from '../../src/upstream/stdio/launcher.ts'
import { findProcesses } from '../e2e/process-tree.ts'
import { addCleanup, tempDir } from '../store.ts'
import { until } from '../until.ts'

const script = (code: string): LaunchOptions => ({
  file: '/bin/sh',
  args: ['-c', code],
  env: { PATH: '/usr/bin:/bin' },
  cwd: tmpdir()
})

function startLauncher(t: TestContext, idleMs?: number) {
  const launcher = createLauncher(idleMs)
  addCleanup(t, () => launcher.close())
  return launcher
}

/** Returns the launchers of this process. */
const launchers = () =>
  findProcesses('launcher-program.').filter(
    ({ parent, command }) => parent === process.pid && command.includes('--max')
  )

const exitOf = (
  child: { once(name: 'exit' | 'close', listener: () => void): unknown },
  name: 'exit' | 'close' = 'exit'
) => new Promise<void>((resolve) => child.once(name, () => resolve()))

test('a process gets its input, and its output and end are seen', async (t) => {
  const child = await startLauncher(t).start(script('echo early; read line; echo "$line"; echo problem >&2; exit 7'))
  const ended = exitOf(child, 'close')
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  child.stdin.write('hello\n')
  assert.deepEqual(await output, ['early\nhello\n', 'problem\n'])
  await ended
  assert.deepEqual([child.exitCode, child.signalCode], [7, null])
})

test('megabytes pass in both directions, and closed input ends the process', async (t) => {
  const child = await startLauncher(t).start(script('cat'))
  const output = text(child.stdout)
  child.stderr.resume()
  child.stdin.end('x'.repeat(5_000_000))
  assert.equal((await output).length, 5_000_000)
})

test('a process that ends at once is seen to end', async (t) => {
  const launcher = startLauncher(t)
  const children = await Promise.all(Array.from({ length: 20 }, () => launcher.start(script('exit 3'))))
  for (const child of children) {
    child.stdout.resume()
    child.stderr.resume()
  }
  await until('all have ended', () => children.every(({ exitCode }) => exitCode === 3))
})

test('a process is ended by a signal', async (t) => {
  const child = await startLauncher(t).start(script('sleep 60'))
  const ended = exitOf(child)
  process.kill(-child.pid, 'SIGTERM')
  await ended
  assert.equal(child.signalCode, 'SIGTERM')
})

test('a program that cannot start is refused with the reason of the system', async (t) => {
  const launcher = startLauncher(t)
  await assert.rejects(launcher.start({ ...script(''), file: '/nowhere/at/all' }), { code: 'ENOENT' })
  await assert.rejects(launcher.start({ ...script(''), args: ['-c', 'x'.repeat(200_000)] }), { code: 'E2BIG' })
  const child = await launcher.start(script('exit 0'))
  await exitOf(child)
})

test('files of a server are for its user alone', async (t) => {
  const child = await startLauncher(t).start(script('umask'))
  assert.equal((await text(child.stdout)).trim(), '0077')
})

test('the environment is the one that was given', async (t) => {
  const child = await startLauncher(t).start({ ...script('env'), env: { PATH: '/usr/bin:/bin', ONE: '1' } })
  const names = (await text(child.stdout)).split('\n').map((line) => line.split('=')[0]!)
  for (const name of names) assert.ok(['PATH', 'ONE', 'PWD', 'SHLVL', '_', 'OLDPWD', ''].includes(name), name)
})

test('a killed launcher ends nothing but itself: its processes count as killed, and the next one starts', async (t) => {
  const launcher = startLauncher(t)
  const child = await launcher.start(script('sleep 60'))
  const ended = exitOf(child)
  process.kill(launchers()[0]!.pid, 'SIGKILL')
  await ended
  assert.equal(child.signalCode, 'SIGKILL')
  process.kill(-child.pid, 'SIGKILL')
  const next = await launcher.start(script('echo again'))
  assert.equal(await text(next.stdout), 'again\n')
})

test('a launcher that stops answering fails the starts that wait, and the next one starts', async (t) => {
  const launcher = startLauncher(t)
  await exitOf(await launcher.start(script('exit 0')))
  const { pid } = launchers()[0]!
  process.kill(pid, 'SIGSTOP')
  const waiting = assert.rejects(launcher.start(script('exit 0')), /the launcher has ended/)
  process.kill(pid, 'SIGKILL')
  await waiting
  await exitOf(await launcher.start(script('exit 0')))
})

test('a start for which no descriptors are left fails alone, and its process ends', async () => {
  const code = `
    import { closeSync, openSync } from 'node:fs'
    import { createLauncher } from '${new URL('../../src/upstream/stdio/launcher.ts', import.meta.url).href}'
    const launcher = createLauncher(undefined, 1000)
    const start = (code) => launcher.start({ file: '/bin/sh', args: ['-c', code], env: {}, cwd: '/' })
    const running = await start('exec sleep 60')
    const held = []
    try {
      for (;;) held.push(openSync('/dev/null'))
    } catch {}
    const failure = await start('exec sleep 61').catch(({ message }) => message)
    for (const fd of held) closeSync(fd)
    const next = await start('exit 5')
    await new Promise((resolve) => next.once('exit', resolve))
    console.log(JSON.stringify([failure, running.exitCode, running.signalCode, next.exitCode]))
    process.kill(running.pid, 'SIGKILL')
    launcher.close()`
  const command = 'ulimit -n 100 && exec "$0" --import tsx --input-type=module --eval "$1"'
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command, process.execPath, code])
  const [failure, ...ends] = JSON.parse(stdout) as unknown[]
  assert.match(String(failure), /^its streams (were closed|did not arrive)$/)
  assert.deepEqual(ends, [null, null, 5])
  await until('its process has ended', () => findProcesses('sleep 61').length === 0)
})

test('the launcher ends when it is idle and when it is closed, and leaves no files', async (t) => {
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('towpath-')).length
  const before = folders()
  const launcher = startLauncher(t, 50)
  for (let round = 0; round < 2; round++) {
    await exitOf(await launcher.start(script('exit 0')))
    await until('it ends', () => launchers().length === 0)
  }
  const child = await launcher.start(script('sleep 60'))
  launcher.close()
  await until('it ends', () => launchers().length === 0)
  process.kill(-child.pid, 'SIGKILL')
  await assert.rejects(launcher.start(script('exit 0')), /closed/)
  await until('the folders are gone', () => folders() <= before)
})

/** Runs `work` with another temporary folder. */
async function withTemporary(t: TestContext, folder: string, work: () => Promise<void>) {
  const before = process.env.TMPDIR
  addCleanup(t, () => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })
  process.env.TMPDIR = folder
  await work()
}

test('a temporary folder with a long path, or a relative one, starts processes all the same', async (t) => {
  const long = join(await tempDir(t), 'x'.repeat(100))
  mkdirSync(long)
  for (const folder of [long, relative(process.cwd(), await tempDir(t))])
    await withTemporary(t, folder, async () => {
      const child = await startLauncher(t).start({ ...script('echo started'), cwd: '/' })
      assert.equal(await text(child.stdout), 'started\n', folder)
    })
  // the path of a socket that is cut lies outside of the private folder
  assert.deepEqual(readdirSync(long), [])
})

test('a temporary folder that cannot be used is named', async (t) => {
  const launcher = startLauncher(t)
  await withTemporary(t, '/nowhere/at/all', () =>
    assert.rejects(launcher.start(script('exit 0')), /no folder can be made in \/nowhere\/at\/all \(ENOENT\): TMPDIR/)
  )
})
