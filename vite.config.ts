import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'
import { statedLicence } from './scripts/stated-licence.ts'

/**
 * Packages that stay in `node_modules`, because they read files of their own or may be missing. The published package
 * depends on these only (scripts/published-manifest.mjs).
 */
const external = JSON.parse(readFileSync(new URL('scripts/external.json', import.meta.url), 'utf8')) as string[]

const LICENCES = 'licences.md'

/** Vite writes down the licence texts that packages carry; the others follow from what the packages state. */
const statedLicences = (): Plugin => ({
  name: 'stated-licences',
  writeBundle() {
    const file = new URL(`dist/src/${LICENCES}`, import.meta.url)
    const withoutText = /^## (\S+) - .*\n(?=\n## |(?![^]))/gm
    const text = readFileSync(file, 'utf8').replace(withoutText, (heading, name: string) => {
      return `${heading}\n${statedLicence(new URL(`node_modules/${name}/`, import.meta.url))}\n`
    })
    writeFileSync(file, text)
  }
})

/** Copies what the page of the API reference loads: description.ts serves it from there. */
const swaggerUiFiles = (): Plugin => ({
  name: 'swagger-ui-files',
  writeBundle() {
    for (const name of ['index.css', 'swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js']) {
      const from = new URL(`node_modules/@fastify/swagger-ui/static/${name}`, import.meta.url)
      cpSync(from, new URL(`dist/src/swagger-ui/${name}`, import.meta.url))
    }
  }
})

/**
 * The server and the command line with the packages that they use, in a few files: to find and read a thousand takes
 * half of a start. `import()` stays what loads a part later. Names and lines are kept, for whoever reads a stack.
 */
export default defineConfig({
  publicDir: false,
  plugins: [statedLicences(), swaggerUiFiles()],
  ssr: { target: 'node', noExternal: true, external },
  build: {
    ssr: true,
    target: 'node20',
    outDir: 'dist/src',
    emptyOutDir: true,
    reportCompressedSize: false,
    // what is bundled ships with its licences
    license: { fileName: LICENCES },
    rolldownOptions: {
      input: {
        'cli/main': 'src/cli/main.ts',
        'cli/worker': 'src/cli/worker.ts',
        'demo/server': 'src/demo/server.ts',
        'stdio/launcher-program': 'src/upstream/stdio/launcher-program.mjs',
        'description-thread': 'src/plugins/openapi/description-thread.mjs',
        'store-program': 'src/registry/store/store-program.mjs'
      },
      output: {
        // beside the folders of the two programs: app.ts and demo/registration.ts find their files from there
        chunkFileNames: '[name].js',
        entryFileNames: '[name].js',
        // they would stay in memory with the code: 7 MB
        comments: false
      }
    }
  }
})
