import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const css = readFileSync(new URL('../../dashboard/src/styles/tokens.css', import.meta.url), 'utf8')
const pairs = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#[\da-f]{6}), (#[\da-f]{6})\)/g)].map(([, name, ...colours]) => [
    name!,
    colours as [light: string, dark: string]
  ])
)

/** Returns the relative luminance defined in WCAG 2.2. */
function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

function contrast(one: string, other: string, theme: 0 | 1): number {
  const [light, dark] = [one, other].map((name) => luminance(pairs.get(name)![theme])).toSorted((a, b) => b - a)
  return (light! + 0.05) / (dark! + 0.05)
}

const texts: readonly (readonly [text: string, grounds: readonly string[]])[] = [
  ['text', ['bg', 'surface', 'sunken', 'hover', 'accent-soft', 'err-soft', 'warn-soft', 'ok-soft']],
  ['muted', ['bg', 'surface', 'sunken', 'hover']],
  ['accent', ['bg', 'surface', 'sunken', 'hover', 'accent-soft']],
  ['on-accent', ['accent', 'accent-hover']],
  ['ok', ['surface', 'sunken', 'ok-soft']],
  ['warn', ['bg', 'surface', 'warn-soft']],
  ['err', ['bg', 'surface', 'hover', 'err-soft']],
  ['off', ['surface']]
]
const controls: readonly (readonly [edge: string, grounds: readonly string[]])[] = [
  ['line-strong', ['bg', 'surface']],
  ['accent', ['bg', 'surface']],
  ['focus', ['bg', 'surface', 'hover']]
]

for (const [theme, name] of [
  [0, 'light'],
  [1, 'dark']
] as const) {
  test(`text holds a contrast of 4.5 on every ground that it stands on (${name})`, () => {
    for (const [text, grounds] of texts) {
      for (const ground of grounds) {
        const value = contrast(text, ground, theme)
        assert.ok(value >= 4.5, `${text} on ${ground}: ${value.toFixed(2)}`)
      }
    }
  })

  test(`edges of controls and the focus ring hold a contrast of 3 (${name})`, () => {
    for (const [edge, grounds] of controls) {
      for (const ground of grounds) {
        const value = contrast(edge, ground, theme)
        assert.ok(value >= 3, `${edge} on ${ground}: ${value.toFixed(2)}`)
      }
    }
  })
}
