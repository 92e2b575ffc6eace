import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { launchAgent, systemUnit, userUnit } from '../../src/cli/service/definition.ts'
import { serviceManager } from '../../src/cli/service/manager.ts'
import { commandLine } from '../e2e/cli.ts'

const options = {
  command: ['/usr/bin/node', '/opt/a "b" $HOME 100% \\x/main.js', 'start'],
  path: '/usr/bin:/opt/50%/b"c',
  settingsFile: '/root/towpath.env'
}

test('a unit quotes its command and PATH, so that systemd expands nothing in them', () => {
  for (const text of [userUnit(options), systemUnit(options)]) {
    const lines = text.split('\n')
    assert.ok(
      lines.includes(String.raw`ExecStart="/usr/bin/node" "/opt/a \"b\" $$HOME 100%% \\x/main.js" "start"`),
      text
    )
    assert.ok(lines.includes(String.raw`Environment="PATH=/usr/bin:/opt/50%%/b\"c"`), text)
    assert.ok(lines.includes('EnvironmentFile=-/root/towpath.env'))
  }
})

test('a system unit has a user of its own, a private state folder and no access to homes', () => {
  const lines = systemUnit(options).split('\n')
  for (const line of ['DynamicUser=yes', 'StateDirectoryMode=0700', 'ProtectHome=yes', 'ProtectSystem=strict'])
    assert.ok(lines.includes(line), line)
})

test('a launchd agent escapes its values', () => {
  const text = launchAgent({ ...options, command: ['/a', '<&>'], logFile: '/logs/a&b.log' })
  assert.match(text, /<string>&lt;&amp;&gt;<\/string>/)
  assert.match(text, /<string>\/logs\/a&amp;b\.log<\/string>/)
})

test('no value of a definition can begin a line of its own, whichever it is', () => {
  const agent = { command: ['/a'], path: '/b', logFile: '/c' }
  for (const character of ['\n', '\r', '\u0000', '\u001b', '\u0085', '\u2028', '\ud800']) {
    const value = `/x${character}ExecStartPre=/bin/false`
    for (const changes of [{ command: ['/a', value] }, { path: value }, { settingsFile: value }]) {
      assert.throws(() => userUnit({ ...options, ...changes }), /control characters/)
      assert.throws(() => systemUnit({ ...options, ...changes }), /control characters/)
    }
    for (const changes of [{ command: [value] }, { path: value }, { logFile: value }])
      assert.throws(() => launchAgent({ ...agent, ...changes }), /control characters/)
  }
  const folder = { env: { XDG_CONFIG_HOME: '/x\nExecStartPre=/bin/false' }, home: '/home/user' }
  assert.throws(() => serviceManager(folder, false, 'linux', 1_000).define(['/a'], '/b'), /control characters/)
})

test('each platform has its service manager, and a plain refusal where there is none', () => {
  const io = { env: {}, home: '/home/user' }
  assert.equal(serviceManager(io, false, 'linux', 1_000).file, '/home/user/.config/systemd/user/towpath.service')
  assert.equal(serviceManager(io, true, 'linux', 0).file, '/etc/systemd/system/towpath.service')
  assert.equal(serviceManager(io, false, 'darwin', 501).file, '/home/user/Library/LaunchAgents/towpath.plist')
  assert.throws(() => serviceManager(io, true, 'linux', 1_000), /needs root/)
  assert.throws(() => serviceManager(io, true, 'darwin', 501), /for Linux/)
  assert.throws(() => serviceManager(io, false, 'win32', 0), /not on win32/)
})

/** A PATH whose `systemctl` and `journalctl` record their arguments: no service manager runs where tests run. */
async function recorded(t: TestContext) {
  const cli = await commandLine(t)
  const bin = join(cli.home, 'bin')
  await mkdir(bin)
  for (const name of ['systemctl', 'journalctl']) {
    const path = join(bin, name)
    await writeFile(path, `#!/bin/sh\necho "${name} $*" >> "${cli.home}/calls"\n`)
    await chmod(path, 0o755)
  }
  const env = { PATH: [bin, '/usr/bin', '/bin'].join(delimiter) }
  const run = (...args: string[]) => cli(['service', ...args], { env })
  const calls = async () => {
    const text = await readFile(join(cli.home, 'calls'), 'utf8')
    await writeFile(join(cli.home, 'calls'), '')
    return text.trim().split('\n')
  }
  return { cli, run, calls }
}

test(
  'a service is installed, shown, followed and removed; its settings file is private and stays',
  { skip: process.platform !== 'linux' && 'needs Linux' },
  async (t) => {
    const { cli, run, calls } = await recorded(t)
    const file = join(cli.home, '.config/systemd/user/towpath.service')
    const settings = join(cli.home, '.config/towpath/towpath.env')
    assert.equal((await run('status')).code, 3)
    const installed = await run('install', '--', '--port', '9000')
    assert.equal(installed.code, 0, installed.err)
    assert.match(await readFile(file, 'utf8'), /"start" "--no-open" "--port" "9000"$/m)
    assert.equal((await stat(settings)).mode & 0o777, 0o600)
    assert.deepEqual(await calls(), [
      'systemctl --user daemon-reload',
      'systemctl --user enable towpath.service',
      'systemctl --user restart towpath.service'
    ])
    await writeFile(settings, 'PORT=9100\n')
    assert.equal((await run('install')).code, 0)
    assert.equal(await readFile(settings, 'utf8'), 'PORT=9100\n')
    await calls()
    assert.equal((await run('status')).code, 0)
    assert.equal((await run('logs', '--follow', '--lines', '5')).code, 0)
    assert.equal((await run('logs', '--lines', '0')).code, 2)
    assert.equal((await run('uninstall')).code, 0)
    assert.deepEqual(await calls(), [
      'systemctl --user status --no-pager --lines=0 towpath.service',
      'journalctl --user --unit=towpath.service --lines=5 --output=cat --follow',
      'systemctl --user disable --now towpath.service',
      'systemctl --user daemon-reload'
    ])
    assert.equal((await run('uninstall')).code, 3)
    assert.equal(await readFile(settings, 'utf8'), 'PORT=9100\n')
  }
)

test(
  'a service is refused without a service manager, and with control characters in its command',
  { skip: process.platform !== 'linux' && 'needs Linux' },
  async (t) => {
    const cli = await commandLine(t)
    const without = await cli(['service', 'install'], { env: { PATH: cli.home } })
    assert.equal(without.code, 1)
    assert.match(without.err, /"systemctl" was not found/)
    const broken = await cli(['service', 'install', '--dry-run', '--', 'a\nExecStartPre=/bin/false'])
    assert.equal(broken.code, 2)
  }
)
