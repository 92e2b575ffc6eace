import { existsSync, readFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'
import { statedLicence } from '../scripts/stated-licence.ts'

/** Packages whose code or data is in the build; their licences ship with it. */
const bundled = [
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  '@cfworker/json-schema',
  '@fontsource-variable/inter',
  '@fontsource-variable/jetbrains-mono'
]

const licenceOf = (name: string) => {
  const folder = new URL(`../node_modules/${name}/`, import.meta.url)
  const file = new URL('LICENSE', folder)
  const text = existsSync(file) ? readFileSync(file, 'utf8') : statedLicence(folder)
  return `${name}\n\n${text.trim()}\n`
}

const licences = (): Plugin => ({
  name: 'licences',
  generateBundle() {
    const source = bundled.map(licenceOf).join(`\n${'-'.repeat(80)}\n\n`)
    this.emitFile({ type: 'asset', fileName: 'assets/licences.txt', source })
  }
})

/** Blocks the first paint, so that no wrong theme flashes: not a module, and not inline, which the CSP forbids. */
const themeScript = (): Plugin => {
  const file = new URL('./src/theme-at-start.js', import.meta.url)
  let isBuild = false
  return {
    name: 'theme-script',
    configResolved({ command }) {
      isBuild = command === 'build'
    },
    buildStart() {
      if (isBuild) this.emitFile({ type: 'asset', name: 'theme.js', source: readFileSync(file, 'utf8') })
    },
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle }) {
        const emitted = Object.values(bundle ?? {}).find(({ fileName }) => /^assets\/theme-[\w-]+\.js$/.test(fileName))
        const src = emitted ? `./${emitted.fileName}` : '/src/theme-at-start.js'
        return [{ tag: 'script', attrs: { src }, injectTo: 'head-prepend' }]
      }
    }
  }
}

const gateway = 'http://127.0.0.1:8080'

export default defineConfig({
  root: import.meta.dirname,
  // relative: the console is served below another path than the dashboard
  base: './',
  publicDir: false,
  build: {
    outDir: '../dist/dashboard',
    emptyOutDir: true,
    // the oldest with light-dark(), which the tokens are written in
    target: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [licences(), themeScript()],
  server: { proxy: { '/api': gateway, '/docs': gateway, '/mcp': gateway } }
})
