import type { Team } from '../../schemas/team.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import { readObject } from '../io/input.ts'
import type { Action } from '../io/runner.ts'
import { recordView, rowsView } from '../output/views.ts'

const PATH = '/api/v0/teams'

interface TeamFlags {
  readonly conf?: string
  readonly member?: readonly string[]
  readonly manager?: readonly string[]
  readonly group?: readonly string[]
}

const pathOf = (name: string) => `${PATH}/${encodeURIComponent(name)}`

async function readTeam(cli: Cli, givenName: string | undefined, flags: TeamFlags) {
  const { conf, member = [], manager = [], group = [] } = flags
  const fromOptions = {
    members: [
      ...member.map((user) => ({ user, role: 'member' })),
      ...manager.map((user) => ({ user, role: 'manager' }))
    ],
    groups: group
  }
  if (conf !== undefined && fromOptions.members.length + group.length > 0) {
    throw usage('with -c only the name can be given in addition: everything else comes from the file')
  }
  const value: Record<string, unknown> = conf === undefined ? fromOptions : (await readObject(cli.io, conf)).value
  const name = givenName ?? value.name
  if (typeof name !== 'string') throw usage('the name of the team is missing', 'pass a name, or a file with "name"')
  return { name, value: { ...value, name } }
}

const view = ({ members, ...team }: Team) =>
  recordView({
    ...team,
    members: members.map(({ user, role }) => (role === 'manager' ? `${user} (manager)` : user))
  })

export const listTeams: Action = async (cli) => {
  const answer = await cli.api.get<readonly Team[]>(PATH)
  const columns = [
    { head: 'name', value: ({ name }: Team) => name },
    { head: 'members', value: ({ members }: Team) => members.map(({ user }) => user).join(', ') },
    { head: 'groups', value: ({ groups }: Team) => groups.join(', ') }
  ]
  await cli.show(
    answer,
    rowsView(columns, answer.body, ({ name }) => name)
  )
}

export const getTeam: Action = async (cli, [name = '']) => {
  const answer = await cli.api.get<Team>(pathOf(name))
  await cli.show(answer, view(answer.body))
}

export const createTeam: Action<TeamFlags> = async (cli, [givenName], flags) => {
  const { name, value } = await readTeam(cli, givenName, flags)
  const answer = await cli.api.post<Team>(PATH, value)
  cli.note(`created team "${name}"`)
  await cli.show(answer, view(answer.body))
}

export const updateTeam: Action<TeamFlags> = async (cli, [givenName], flags) => {
  const { name, value } = await readTeam(cli, givenName, flags)
  const answer = await cli.api.put<Team>(pathOf(name), value)
  cli.note(`updated team "${name}"`)
  await cli.show(answer, view(answer.body))
}

export const deleteTeam: Action = async (cli, [name = '']) => {
  await cli.api.remove(pathOf(name))
  cli.note(`deleted team "${name}"`)
}
