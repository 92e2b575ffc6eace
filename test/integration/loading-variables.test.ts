import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadsCode } from '../../src/domain/loading-variables.ts'
import { freshConfig, openApp, register, startApp, stdioServer } from '../app.ts'
import { tempDir } from '../store.ts'

const restricted = { TOWPATH_STDIO_COMMANDS: `/bin/true,${process.execPath}` }

const refused =
  'LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH GLIBC_TUNABLES LOCPATH OPENSSL_CONF PATH HOME IFS ' +
  'ENV BASH_ENV BASH_FUNC_ls%% SHELLOPTS PS4 PROMPT_COMMAND NODE_OPTIONS NODE_PATH npm_config_node_options ' +
  'NPM_CONFIG_PREFIX Npm_Config_Userconfig PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONUSERBASE PYTHONWARNINGS ' +
  'PIP_INDEX_URL UV_INDEX_URL PERL5OPT PERL5LIB RUBYOPT RUBYLIB CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS ' +
  'JDK_JAVA_OPTIONS DOTNET_STARTUP_HOOKS CORECLR_PROFILER_PATH GIT_SSH_COMMAND GIT_CONFIG_GLOBAL XDG_CONFIG_HOME'

for (const [method, url, server] of [
  ['POST', '/api/v0/servers', 'new'],
  ['POST', '/api/v0/servers?force=true', 'there'],
  ['PUT', '/api/v0/servers/there', 'there'],
  ['POST', '/api/dashboard/servers', 'new'],
  ['POST', '/api/dashboard/servers?dry_run=true', 'new']
] as const) {
  test(`SR-M5 where commands are restricted, ${method} ${url} refuses variables that load code`, async (t) => {
    const app = await startApp(t, { env: restricted })
    await register(app, stdioServer('there'))
    for (const name of refused.split(' ')) {
      const payload = { ...stdioServer(server), env: { HARMLESS: '1', [name]: 'x' } }
      const { statusCode, body } = await app.inject({ method, url, payload })
      // a dry run reports the problem with a 200
      assert.equal(statusCode, url.endsWith('dry_run=true') ? 200 : 400, `${name}: ${body}`)
      assert.ok(body.includes(name) && body.includes('TOWPATH_STDIO_COMMANDS'), body)
    }
  })
}

test('SR-M5 other variables pass where commands are restricted, and all do where they are not', async (t) => {
  const harmless = ['API_KEY', 'NODE_ENV', 'PYTHONUNBUFFERED', 'GITHUB_TOKEN', 'LANG', 'PATHS', 'MY_PATH', 'LOG_LEVEL']
  for (const name of harmless) assert.equal(loadsCode(name), false, name)
  const app = await startApp(t, { env: restricted })
  await register(app, { ...stdioServer('a'), env: Object.fromEntries(harmless.map((name) => [name, 'x'])) })
  const free = await startApp(t)
  await register(free, { ...stdioServer('a'), env: { PATH: '/usr/bin:/bin', NODE_OPTIONS: '--no-warnings' } })
})

test('SR-M5 a server with such a variable from before is not started, and code in it does not run', async (t) => {
  const file = join(await tempDir(t), 'ran')
  const code = `import{writeFileSync}from'node:fs';writeFileSync(${JSON.stringify(file)},'')`
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(code)}`
  const config = await freshConfig(t)
  const first = await openApp(config)
  await register(first, { ...stdioServer('a'), env: { NODE_OPTIONS: '--no-warnings' } })
  await register(first, { ...stdioServer('b'), env: { NODE_OPTIONS } })
  await first.close()
  assert.ok(existsSync(file), 'the variable loads code where commands are not restricted')
  const app = await openApp({ ...config, stdio: { ...config.stdio, commands: [process.execPath] } })
  try {
    for (const name of ['a', 'b']) {
      for (const [url, payload] of [
        ['/api/v0/tools/invoke', { name: `${name}__pid` }],
        [`/api/v0/servers/${name}/refresh`, undefined]
      ] as const) {
        const answer = await app.inject({ method: 'POST', url, ...(payload && { payload }) })
        assert.equal(answer.statusCode, 502, answer.body)
        assert.match(answer.json().error, /env: "NODE_OPTIONS" can load code/)
      }
    }
    const fresh = { ...stdioServer('c'), env: { NODE_OPTIONS: NODE_OPTIONS.replace('ran', 'new') } }
    assert.equal((await app.inject({ method: 'POST', url: '/api/v0/servers', payload: fresh })).statusCode, 400)
    assert.ok(!existsSync(file.replace(/ran$/, 'new')))
  } finally {
    await app.close()
  }
})
