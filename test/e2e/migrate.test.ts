import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { emptyDatabase, engines, tempDir } from '../store.ts'
import { cleanEnv, run, startGateway, towpathCommand } from './harness.ts'

function migrate(t: TestContext, env: NodeJS.ProcessEnv) {
  const migrating = run(t, process.execPath, [...towpathCommand(), 'migrate'], { env: { ...cleanEnv(), ...env } })
  return migrating.exited.then((code) => ({ code, output: migrating.output().trim() }))
}

const skip = engines.includes('postgres') ? false : 'no PostgreSQL'

test(
  'migrate makes an empty database ready, alone or several at a time, and then has nothing to do',
  { skip },
  async (t) => {
    const databaseUrl = await emptyDatabase(t)
    const env = { DATABASE_URL: databaseUrl }
    const first = await Promise.all([migrate(t, env), migrate(t, env)])
    assert.deepEqual(
      first.map(({ code }) => code),
      [0, 0],
      JSON.stringify(first)
    )
    assert.equal(first.filter(({ output }) => /^applied 0001_\w+, /.test(output)).length, 1)
    assert.deepEqual(await migrate(t, env), { code: 0, output: 'the database is up to date' })
    const gateway = await startGateway(t, { place: { databaseUrl, dataDir: await tempDir(t) } })
    assert.deepEqual((await gateway.get('/api/v0/servers')).body, [])
  }
)

test('migrate says in one line why it cannot, and ends with 1, or with 2 for settings', async (t) => {
  const lost = await migrate(t, { DATABASE_URL: 'postgres://towpath:sentinel@127.0.0.1:1/towpath' })
  assert.equal(lost.code, 1)
  assert.match(lost.output, /^towpath: cannot migrate: [^\n]+$/)
  assert.equal(lost.output.includes('sentinel'), false)
  const wrong = await migrate(t, { DATABASE_URL: 'mysql://towpath' })
  assert.deepEqual(wrong, { code: 2, output: 'towpath: DATABASE_URL must be a postgres://… URL' })
})
