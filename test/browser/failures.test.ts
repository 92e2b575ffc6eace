import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findBarriers, skip, startSite } from './browser.ts'

test('a server that fails is explained, saved disabled, and recorded for an hour', { skip }, async (t) => {
  const { gateway, visit } = await startSite(t, { env: { TOWPATH_CALL_LOG_CONTENTS: 'off' } })
  await visit(
    '#/new/server?tab=form&transport=stdio',
    async (page) => {
      await page.getByLabel('Command', { exact: true }).fill('python3')
      await page.getByLabel(/^Arguments/).fill('-c\nimport towpath_missing_module')
      await page.getByLabel('Name', { exact: true }).fill('late')
      await page.getByRole('button', { name: 'Add server' }).click()
      const alert = page.getByRole('alert').filter({ hasText: 'ModuleNotFoundError' })
      await alert.getByText('Python cannot find a package of the server.').waitFor()
      await alert.getByText(/Install the package for this interpreter/).waitFor()
      await alert
        .getByLabel('Last lines of stderr')
        .getByText(/Traceback/)
        .waitFor()
      assert.deepEqual(await findBarriers(page), [])

      await page.getByRole('button', { name: 'Save anyway, disabled' }).click()
      await page.getByRole('heading', { name: 'late', exact: true }).waitFor()
      await page.getByText('Saved without an answer of the server.').waitFor()
      await page.getByText('Disabled', { exact: true }).first().waitFor()

      await page.getByRole('button', { name: 'Record contents of calls for 1 hour' }).click()
      await page.getByText(/Arguments and results of its calls are recorded until/).waitFor()
      await page.getByRole('button', { name: 'Stop recording' }).waitFor()
      assert.deepEqual(await findBarriers(page), [])
    },
    { expected: /502/ }
  )
  const { body } = await gateway.get('/api/v0/servers/late')
  assert.deepEqual([body.enabled, typeof body.recorded_until], [false, 'string'])
})
