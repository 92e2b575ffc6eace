import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { addCleanup } from '../store.ts'

export interface BrowserStepsOptions {
  readonly browser: Browser
  /** Signs a person in at the page of the identity provider. */
  signIn(page: Page, person: string): Promise<void>
  /** Receives what the reader copies, by the name under which the page uses it. */
  onCopy(name: string, text: string): void
}

/** Capitals count: otherwise a hint that mentions a word would do for the word. */
const exactly = (text: string) => new RegExp(text.replace(/[^\w\s]/g, '\\$&'))

type Step = (page: Page, words: readonly string[], person: string) => Promise<void>

/**
 * Returns a function that does what a `browser` block of a page says, line by line. The first line names the person, who
 * has a browser of their own.
 */
export function createBrowserSteps(t: TestContext, { browser, signIn, onCopy }: BrowserStepsOptions) {
  const pages = new Map<string, Page>()
  const pageOf = async (person: string): Promise<Page> => {
    const known = pages.get(person)
    if (known) return known
    const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1_440, height: 900 } })
    context.setDefaultTimeout(60_000)
    addCleanup(t, () => context.close())
    const page = await context.newPage()
    pages.set(person, page)
    return page
  }
  const steps: readonly (readonly [RegExp, Step])[] = [
    [/^Open (\S+)$/, async (page, [url]) => void (await page.goto(url!))],
    [/^Press "(.+)"$/, (page, [name]) => page.getByRole('button', { name: name! }).click()],
    [/^Enter "(.+)" in "(.+)"$/, (page, [text, label]) => page.getByLabel(label!).first().fill(text!)],
    [
      /^Read "(.+)"$/,
      (page, [text]) => page.locator('main').getByText(exactly(text!)).filter({ visible: true }).first().waitFor()
    ],
    [/^Sign in at the provider$/, (page, _words, person) => signIn(page, person)],
    [
      /^Copy the access token as (\w+)$/,
      async (page, [name]) => onCopy(name!, await page.locator('main code', { hasText: 'twp_' }).innerText())
    ]
  ]
  return async (text: string): Promise<void> => {
    const [first = '', ...lines] = text.trimEnd().split('\n')
    const person = /^In the browser of (?:the )?(\w+)$/.exec(first)?.[1]
    assert.ok(person, first)
    const page = await pageOf(person)
    for (const line of lines) {
      const found = steps.flatMap(([pattern, step]) => {
        const match = pattern.exec(line)
        return match ? [{ step, words: match.slice(1) }] : []
      })
      assert.equal(found.length, 1, line)
      await found[0]!.step(page, found[0]!.words, person).catch(async (error: unknown) => {
        const shown = await page.locator('body').innerText()
        throw new Error(`"${line}" of ${person} failed at ${page.url()}: ${shown}`, { cause: error })
      })
    }
  }
}
