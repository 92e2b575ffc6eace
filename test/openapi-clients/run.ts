import { spawnSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root, startGateway } from '../e2e/harness.ts'
import { runStandalone } from '../standalone.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const generated = join(here, 'generated')
const venv = join(here, '.venv')
const python = join(venv, 'bin/python')
const document = join(root, 'openapi.json')
const demo = join(root, 'dist/src/demo/server.js')

/** Runs a command in this folder. Throws unless it exits with 0. */
function run(command: string, ...args: string[]): void {
  console.log(`$ ${command} ${args.join(' ')}`)
  const path = `${join(venv, 'bin')}:${process.env['PATH']}`
  const env = { ...process.env, PATH: path, PYTHONPATH: join(generated, 'python'), REDOCLY_TELEMETRY: 'off' }
  const { status, error } = spawnSync(command, args, { cwd: here, stdio: 'inherit', env })
  if (error) throw new Error(`${command} cannot be run: ${error.message}`)
  if (status !== 0) throw new Error(`${command} ended with ${status}`)
}

const installed = (name: string) => join(here, 'node_modules/.bin', name)

function lint(): void {
  run(installed('redocly'), 'lint', document, '--config', 'redocly.yaml')
  run(installed('spectral'), 'lint', document, '--ruleset', 'spectral.yaml', '--fail-severity', 'warn')
}

function generate(): void {
  const types = join(generated, 'api.ts')
  run(installed('openapi-typescript'), document, '--output', types, '--default-non-nullable=false')
  run(join(root, 'node_modules/.bin/tsc'), '-p', '.')
  const target = join(generated, 'python/towpath_client')
  const options = ['--path', document, '--meta', 'none', '--output-path', target, '--overwrite']
  run(join(venv, 'bin/openapi-python-client'), 'generate', ...options, '--fail-on-warning')
}

async function follow(mode: 'development' | 'enterprise'): Promise<void> {
  for (const language of ['typescript', 'python'] as const) {
    await runStandalone(async (t) => {
      const env = { SERVER_MODE: mode, TOWPATH_DEMO: mode === 'development' ? 'true' : undefined }
      const { url } = await startGateway(t, { env })
      if (language === 'python') run(python, 'python/tutorial.py', mode, url, process.execPath, demo)
      else run(process.execPath, '--import', 'tsx', 'typescript/tutorial.ts', mode, url, demo)
    })
  }
}

/**
 * Checks openapi.json as integrators use it: two linters must find no error, and generated TypeScript and Python
 * clients run the tutorials against a gateway in both modes. Fails if a tool is missing.
 */
async function main(): Promise<void> {
  await rm(generated, { recursive: true, force: true })
  run('npm', 'ci', '--no-audit', '--no-fund')
  run('python3', '-m', 'venv', '--clear', venv)
  run(python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', 'requirements.txt')
  lint()
  generate()
  await follow('development')
  await follow('enterprise')
}

await main()
