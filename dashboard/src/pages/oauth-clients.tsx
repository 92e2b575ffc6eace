import { useSignal, type Signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { OAuthGrantPage } from '../../../src/schemas/oauth-client.ts'
import { change, send, type ApiError } from '../api.ts'
import { useApp, useSource } from '../app-context.ts'
import { approvalOf } from '../clients/approval.ts'
import {
  lastRenewed,
  programsOf,
  readFurther,
  type Connection,
  type Program,
  type ReadGrants
} from '../clients/connections.ts'
import { count, plural } from '../format.ts'
import type { PageProps } from '../pages.ts'
import { link } from '../router.ts'
import * as sources from '../sources.ts'
import { SortedTable, type Column } from '../table/sorted-table.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { AsyncContent, EmptyPanel, ErrorPanel } from '../ui/panels.tsx'
import { Status } from '../ui/status.tsx'
import { Ago } from '../ui/time.tsx'
import { UntrustedText, untrustedText } from '../ui/untrusted-text.tsx'

const hostOf = (uri: string): string => (URL.canParse(uri) ? new URL(uri).host || new URL(uri).protocol : uri)
const titleOf = ({ name, id }: Program): string => untrustedText(name ?? id)

const Name = ({ program: { id, name, registered } }: { program: Program }) => (
  <>
    <span class="name">
      <UntrustedText text={name ?? id} />
    </span>
    <span class="help blk wrap">
      {name !== undefined && <UntrustedText text={id} />}
      {registered && (
        <>
          {' '}
          answers go to <UntrustedText text={[...new Set(registered.redirect_uris.map(hostOf))].join(', ')} />
        </>
      )}
    </span>
  </>
)

const People = ({ connections }: { connections: readonly Connection[] }) => (
  <>
    {connections.length === 0 && <span class="muted">nobody</span>}
    {connections.map(({ person, scopes }) => (
      <span key={person} class="blk">
        <a href={link('person', person)}>
          <UntrustedText text={person} />
        </a>{' '}
        <span class="muted">
          <UntrustedText text={scopes.join(', ')} />
        </span>
      </span>
    ))}
  </>
)

const State = ({ program, isAsked }: { program: Program; isAsked: boolean }) => {
  const { tone, word, help } = approvalOf(program, isAsked)
  return (
    <>
      <Status tone={tone} word={word} />
      <span class="help blk">{help}</span>
    </>
  )
}

const columnsFor = (isAsked: boolean): readonly Column<Program>[] => [
  {
    key: 'name',
    label: 'Program',
    kind: 'wrap',
    value: titleOf,
    cell: (program) => <Name program={program} />
  },
  {
    key: 'people',
    label: 'For whom, with which rights',
    kind: 'opt2 wrap',
    value: ({ connections }) => connections.length,
    cell: ({ connections }) => <People connections={connections} />
  },
  {
    key: 'renewed',
    label: 'Last renewed',
    kind: 'opt',
    value: lastRenewed,
    cell: (program) => {
      const at = lastRenewed(program)
      return at === undefined ? '—' : <Ago at={at} />
    }
  },
  {
    key: 'state',
    label: 'State',
    kind: 'wrap',
    value: (program) => approvalOf(program, isAsked).word,
    cell: (program) => <State program={program} isAsked={isAsked} />
  }
]

const path = (id: string, ...rest: readonly string[]) =>
  ['/api/v0/oauth_clients', encodeURIComponent(id), ...rest].join('/')

interface ActionsOptions {
  readonly asked: Signal<Program | undefined>
  readonly isApprovalAsked: boolean
  readonly approve: (program: Program) => void
}

function actionsFor({ asked, isApprovalAsked, approve }: ActionsOptions): Column<Program> {
  return {
    key: 'actions',
    label: 'Actions',
    cell: (program) =>
      program.registered && (
        <div class="actions right">
          {isApprovalAsked && !program.registered.approved && (
            <button
              type="button"
              class="btn sm"
              aria-label={`Approve ${titleOf(program)}`}
              onClick={() => approve(program)}
            >
              Approve
            </button>
          )}
          <button
            type="button"
            class="btn quiet sm"
            aria-label={`Remove ${titleOf(program)}`}
            onClick={() => (asked.value = program)}
          >
            Remove
          </button>
        </div>
      )
  }
}

/** Reads the pages of grants after a first one, again whenever that one changes. */
function useGrants(first: OAuthGrantPage | undefined, failure: Signal<ApiError | undefined>) {
  const found = useSignal<ReadGrants | undefined>(undefined)
  useEffect(() => {
    if (!first) return undefined
    let isGone = false
    const read = async (cursor: string) =>
      (await send<OAuthGrantPage>('GET', sources.oauthGrantsAfter(cursor).path)).body
    readFurther(first, read)
      .then((all) => {
        if (!isGone) found.value = all
      })
      .catch((error: unknown) => {
        if (!isGone) failure.value = error as ApiError
      })
    return () => {
      isGone = true
    }
  }, [first, found, failure])
  return found
}

interface ProgramsProps {
  readonly programs: readonly Program[]
  readonly query: PageProps['query']
}

function Programs({ programs, query }: ProgramsProps) {
  const { store, viewer, notice } = useApp()
  const asked = useSignal<Program | undefined>(undefined)
  const failure = useSignal<ApiError | undefined>(undefined)
  const finish = async (text: string) => {
    notice.value = text
    await Promise.all([store.open(sources.oauthClients).load(), store.refresh(new Set(['people']))])
  }
  const approve = async (program: Program) => {
    failure.value = undefined
    try {
      await change('POST', path(program.id, 'approve'))
      await finish(`${titleOf(program)} is approved`)
    } catch (error) {
      failure.value = error as ApiError
    }
  }
  const remove = async (program: Program) => {
    await change('DELETE', path(program.id))
    await finish(`${titleOf(program)} is removed`)
  }
  if (programs.length === 0)
    return (
      <EmptyPanel title="No program has registered yet">
        <p>Programs register themselves when a person connects them by URL. They appear here with the people.</p>
      </EmptyPanel>
    )
  const { approves_clients: isApprovalAsked, may } = viewer.value
  const columns = columnsFor(isApprovalAsked)
  const actions = actionsFor({ asked, isApprovalAsked, approve: (program) => void approve(program) })
  return (
    <>
      {failure.value && <ErrorPanel title="The program was not approved." error={failure.value} />}
      <SortedTable
        label="OAuth clients"
        rows={programs}
        columns={may.administer ? [...columns, actions] : columns}
        keyOf={({ id }) => id}
        query={query}
      />
      {asked.value && (
        <Confirm
          title="Remove this program?"
          action="Remove"
          onConfirm={() => remove(asked.value!)}
          onClose={() => (asked.value = undefined)}
        >
          <p>
            <strong>
              <UntrustedText text={asked.value.name ?? asked.value.id} />
            </strong>{' '}
            loses at once what {plural(asked.value.connections.length, 'person', 'people')} gave to it: tokens,
            sessions, streams and calls. It can register again.
          </p>
        </Confirm>
      )}
    </>
  )
}

function Joined({ query }: Pick<PageProps, 'query'>) {
  const clients = useSource(sources.oauthClients)
  const first = useSource(sources.oauthGrants)
  const failure = useSignal<ApiError | undefined>(undefined)
  const found = useGrants(first.data.value, failure).value
  return (
    <AsyncContent resource={clients} subject="The OAuth clients">
      {(registered) => (
        <AsyncContent resource={first} subject="The people">
          {({ grants }) => (
            <>
              {failure.value && <ErrorPanel title="Some people could not be loaded." error={failure.value} />}
              {found?.isCut && (
                <p class="banner warn">The newest {count(found.grants.length)} grants are shown; there are more.</p>
              )}
              <Programs programs={programsOf(registered, found?.grants ?? grants)} query={query} />
            </>
          )}
        </AsyncContent>
      )}
    </AsyncContent>
  )
}

/** Programs that people let in, with their rights and the time of the last renewal. */
export const OAuthClients = ({ query }: PageProps) => (
  <>
    <PageHead
      title="OAuth clients"
      sub="Programs that people connect by URL. They say their names themselves, and nobody has checked them."
    />
    <Joined query={query} />
  </>
)
