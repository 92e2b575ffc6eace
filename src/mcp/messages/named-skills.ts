import { skillText } from '../../catalog/catalog.ts'
import { definitionProblem } from '../../catalog/items/definition.ts'
import { shapeProblem } from '../../catalog/items/item-shape.ts'
import { addressOf, formatAddress, sentAddressOf } from '../../catalog/resource-uris.ts'
import type { ResourceTarget } from '../../catalog/resource-resolution.ts'
import { canonicalUri, type FileTest } from '../../catalog/items/skill-entry.ts'
import { elements, members, stringOf, withMembers } from '../../json/json.ts'
import type { Payload } from '../../json/payload.ts'
import { badResponse } from '../../protocol/upstream-failure.ts'

const toText = (latin1: string) => Buffer.from(latin1, 'latin1').toString()
const toLatin1 = (text: string) => Buffer.from(text).toString('latin1')

/**
 * Returns the skill in a result of `skills/get` under the address that was asked for, with the files that are shown.
 * Throws UpstreamFailure for an entry that clients would reject, or for that of another skill.
 */
export function namedSkill(result: Payload, { server, uri, form }: ResourceTarget, isShown: FileTest): Payload {
  const definition = toText(result.valueOf('skill') ?? '')
  const problem = definitionProblem(definition) ?? shapeProblem('skill', definition)
  if (problem !== undefined) throw badResponse(`the upstream's skill cannot be used: ${problem.reason}`)
  if (canonicalUri(stringOf(definition, members(definition), 'uri')!) !== canonicalUri(uri))
    throw badResponse('the upstream answered with another skill')
  const named = skillText(definition, (own) => formatAddress(form, server.name, own), isShown)
  return result.withChanges({ skill: toLatin1(named) }, '')
}

/**
 * Returns the children in a result of `resources/directory/read` that are shown under their addresses, without unusable
 * ones. `isBare`: addresses stay those of the server.
 */
export function namedChildren(
  result: Payload,
  { server, form }: ResourceTarget,
  isBare: boolean,
  isShown: FileTest
): Payload {
  const list = toText(result.valueOf('resources') ?? '')
  if (!list.startsWith('[')) throw badResponse('the upstream answered without a list of resources')
  const children = elements(list).flatMap(({ start, end }) => {
    const definition = list.slice(start, end)
    if (definitionProblem(definition) ?? shapeProblem('resource', definition)) return []
    const found = members(definition)
    const own = stringOf(definition, found, 'uri')!
    if (!isShown(own)) return []
    if (isBare) return definition
    const address = form === 'own' ? sentAddressOf(server.name, own) : addressOf(server.name, own)
    return withMembers(definition, { uri: JSON.stringify(address) }, found)
  })
  return result.withChanges({ resources: toLatin1(`[${children.join(',')}]`) }, '')
}
