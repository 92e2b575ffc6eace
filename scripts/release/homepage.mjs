import { readFileSync } from 'node:fs'

const { repository } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** URL of the project's pages, from the repository in package.json. */
export const homepage = repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
