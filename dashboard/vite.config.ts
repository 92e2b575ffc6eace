import { existsSync, readFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'

/** Packages whose code or data is in the build; their licences ship with it. */
const bundled = [
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  '@cfworker/json-schema',
  '@fontsource-variable/inter',
  '@fontsource-variable/jetbrains-mono'
]

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

/** A package that names its licence and does not carry the text gets it here, with its author. */
const statedLicence = (folder: URL): string => {
  const { author, license } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as {
    author: string
    license: string
  }
  if (license !== 'MIT') throw new Error(`${folder.pathname} has no licence text`)
  return `MIT License\n\nCopyright (c) ${author}\n\n${MIT}`
}

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
        const src = emitted ? `/${emitted.fileName}` : '/src/theme-at-start.js'
        return [{ tag: 'script', attrs: { src }, injectTo: 'head-prepend' }]
      }
    }
  }
}

const gateway = 'http://127.0.0.1:8080'

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
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
