import { useEffect } from 'preact/hooks'
import { useApp, useRights, useSource } from '../app-context.ts'
import { link } from '../router.ts'
import { DemoButton } from '../servers/demo-button.tsx'
import * as sources from '../sources.ts'
import { isPending } from '../store.ts'
import { Done } from '../ui/icons.tsx'
import { Skeleton } from '../ui/panels.tsx'
import { stepsOf, type StepId } from './steps.ts'

/** A client's first request alone changes no data, so no event reports it. */
const POLL_MS = 2_000

/** Ways to register the first server, one of them the recommended one. */
export const AddServerActions = () => (
  <div class="actions">
    <a class="btn primary" data-new href={link('new-server', '', { tab: 'form' })}>
      Add server
    </a>
    <a class="btn" href={link('new-server', '', { tab: 'paste' })}>
      Import mcp.json
    </a>
    <DemoButton />
  </div>
)

const texts: Readonly<Record<StepId, readonly [title: string, help: string]>> = {
  add: ['Add a server', 'Enter a URL or a command, or import the servers of another client.'],
  try: ['Try a tool', 'Choose a tool, fill in its form and call it.'],
  connect: [
    'Connect a client',
    'Copy one command or file to your agent. This step is done when its first request arrives.'
  ],
  invite: ['Invite somebody', 'People who sign in at your identity provider need no invitation.']
}

const actions: Readonly<Record<StepId, () => preact.ComponentChildren>> = {
  add: AddServerActions,
  try: () => (
    <div class="actions">
      <a class="btn primary" href={link('tools')}>
        Choose a tool
      </a>
    </div>
  ),
  connect: () => (
    <div class="actions">
      <a class="btn primary" href={link('connect')}>
        Connect a client
      </a>
    </div>
  ),
  invite: () => (
    <div class="actions">
      <a class="btn primary" href={link('people')}>
        Go to People
      </a>
      <a class="btn" href={link('policies')}>
        Say what they may use
      </a>
    </div>
  )
}

/** Returns the steps while the checklist is shown: to administrators, not dismissed, and at least one is open. */
function useOpenSteps() {
  const { showFirstSteps } = useApp().preferences
  const { administer } = useRights()
  const overview = useSource(sources.overview).data.value
  const steps = overview && administer && showFirstSteps.value ? stepsOf(overview) : []
  return steps.some(({ isDone }) => !isDone) ? steps : []
}

/** Returns the step that the checklist offers now; undefined while the checklist is hidden. */
export const useNextStep = (): StepId | undefined => useOpenSteps().find(({ isDone }) => !isDone)?.id

/** Link to add a server; the checklist of the first steps, while shown, has the only primary button of a page. */
export function AddServerLink() {
  const kind = useNextStep() ? 'btn' : 'btn primary'
  return (
    <a class={kind} data-new href={link('new-server', '', { tab: 'form' })}>
      Add server <kbd>N</kbd>
    </a>
  )
}

/** Checklist from an empty gateway to a connected client; ticks itself, and disappears when done or dismissed. */
export function FirstSteps() {
  const { showFirstSteps } = useApp().preferences
  const { administer } = useRights()
  const overview = useSource(sources.overview)
  const { load } = overview
  const steps = useOpenSteps()
  const isShown = steps.length > 0
  useEffect(() => {
    if (!isShown) return undefined
    const timer = setInterval(() => document.hidden || void load(), POLL_MS)
    return () => clearInterval(timer)
  }, [isShown, load])
  // the rest of the page waits until it is known whether the checklist stands above it
  if (isPending(overview) && administer && showFirstSteps.value) return <Skeleton />
  if (!isShown) return null
  const next = steps.find(({ isDone }) => !isDone)
  return (
    <section class="panel steps" aria-label="First steps">
      <div class="row">
        <h2>First steps</h2>
        <button type="button" class="btn sm quiet" onClick={() => (showFirstSteps.value = false)}>
          Dismiss
        </button>
      </div>
      <ol>
        {steps.map((step, at) => {
          const [title, help] = texts[step.id]
          const Actions = actions[step.id]
          return (
            <li
              key={step.id}
              aria-current={step === next ? 'step' : undefined}
              class={step.isDone ? 'done' : undefined}
            >
              <span class="mark" aria-hidden="true">
                {step.isDone ? <Done /> : at + 1}
              </span>
              <div class="stack">
                <h3>
                  {title}
                  {step.isDone && <span class="vh"> (done)</span>}
                </h3>
                {step === next && (
                  <>
                    <p class="sub">{help}</p>
                    <Actions />
                  </>
                )}
              </div>
            </li>
          )
        })}
      </ol>
    </section>
  )
}
