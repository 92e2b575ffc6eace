import { isJsonObject, isList, printJson, type Json, type JsonObject } from '../form/json.ts'

/** Domains that an app may declare, by what it wants to do with them. */
const domainLists = [
  ['Connects to', 'connectDomains'],
  ['Loads from', 'resourceDomains'],
  ['Frames', 'frameDomains'],
  ['Base URLs', 'baseUriDomains']
] as const

const listText = (value: Json): string =>
  isList(value)
    ? value.map((each) => (typeof each === 'string' ? each : printJson(each, 0))).join(', ')
    : printJson(value, 0)

/** Returns what an interface declares about itself, as label and text; hosts decide what they grant. */
export function appFacts({ csp, permissions, domain }: JsonObject): (readonly [label: string, text: string])[] {
  const domains = isJsonObject(csp) ? csp : {}
  const lists = domainLists.flatMap(([label, key]) => {
    const value = domains[key]
    const text = value === undefined ? '' : listText(value)
    return text === '' ? [] : [[label, text] as const]
  })
  const wanted = isJsonObject(permissions) ? Object.keys(permissions).join(', ') : ''
  return [
    ...(lists.length > 0 ? lists : [['Outside connections', 'none declared'] as const]),
    ['Permissions', wanted || 'none declared'],
    ...(typeof domain === 'string' ? [['Domain', domain] as const] : [])
  ]
}

/** Returns `_meta.ui` of the contents of a resource, undefined if there is none. */
export function appOf({ _meta: meta }: JsonObject): JsonObject | undefined {
  const ui = isJsonObject(meta) ? meta.ui : undefined
  return isJsonObject(ui) ? ui : undefined
}
