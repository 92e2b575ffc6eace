import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const docs = join(import.meta.dirname, '../..')
const { homepage } = JSON.parse(readFileSync(join(docs, '../package.json'), 'utf8'))
const repository = homepage.replace(/#.*$/, '')

const moduleAt = (name) => fileURLToPath(import.meta.resolve(name))

/** Title of a page: its first heading. */
const titleOf = (path) => /^# (.+)$/m.exec(readFileSync(join(docs, path), 'utf8'))?.[1] ?? path

/** Pages of a folder, by title. */
const pagesIn = (folder) =>
  readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => ({ text: titleOf(`${folder}/${name}`), link: `/${folder}/${name.replace(/\.md$/, '')}` }))
    .toSorted((a, b) => a.text.localeCompare(b.text))

/**
 * Links that leave the folder of the docs lead to the repository; VitePress reports every other link without a target.
 */
function linkToRepository(md) {
  const plain =
    md.renderer.rules.link_open ?? ((tokens, index, options, _env, self) => self.renderToken(tokens, index, options))
  md.renderer.rules.link_open = (tokens, index, options, env, self) => {
    const token = tokens[index]
    const href = token.attrGet('href') ?? ''
    const target = normalize(join(dirname(env.relativePath ?? ''), href.replace(/[?#].*$/, '')))
    if (!/^[a-z]+:|^#|^\//.test(href) && target.startsWith('..')) {
      const path = normalize(join('docs', target))
      if (!existsSync(join(docs, '..', path))) throw new Error(`${env.relativePath}: ${href} does not exist`)
      token.attrSet('href', `${repository}/blob/main/${path}`)
      token.attrSet('target', '_blank')
    }
    return plain(tokens, index, options, env, self)
  }
}

export default {
  title: 'Towpath',
  description: 'A self-hosted MCP gateway: one endpoint for the tools of all your MCP servers.',
  srcDir: '..',
  srcExclude: ['site/**'],
  outDir: './dist',
  cacheDir: '../../node_modules/.cache/vitepress',
  rewrites: { 'README.md': 'index.md' },
  cleanUrls: true,
  ignoreDeadLinks: 'localhostLinks',
  lastUpdated: false,
  // braces in headings are path parameters, not attributes
  // the pages are outside of this folder, whose modules they use
  vite: {
    resolve: {
      alias: [
        { find: /^vue\/server-renderer$/, replacement: moduleAt('vue/server-renderer') },
        { find: /^vue$/, replacement: moduleAt('vue') }
      ]
    }
  },
  markdown: { config: linkToRepository, attrs: { disable: true } },
  themeConfig: {
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    sidebar: [
      { text: 'Overview', link: '/' },
      { text: 'Tutorials', items: pagesIn('tutorials') },
      { text: 'How to', items: pagesIn('how-to') },
      { text: 'Reference', items: pagesIn('reference') },
      { text: 'Explanation', items: pagesIn('explanation') },
      { text: 'Internals', collapsed: true, items: pagesIn('internals') }
    ]
  }
}
