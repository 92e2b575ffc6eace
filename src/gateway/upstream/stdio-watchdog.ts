import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'

/**
 * Outlives the gateway by a second to end what a killed gateway leaves behind
 * (security-model.md#child-process-isolation, LC-04).
 */
export interface Watchdog {
  /** Starts it if it does not run; called before a child is started so that no child is ever without it. */
  ready(): void
  add(group: number): void
  remove(group: number): void
  /** Lets it go; it ends the groups that it still knows. */
  close(): void
}

/**
 * Reads `+ group` and `- group` lines. When the pipe ends, however the gateway died, it ends the groups that are left and
 * all that they have started: TERM, a second, KILL. Its own session keeps a terminal's Ctrl-C away, the trap any signal
 * meant for the gateway. `$1` begins the mark that the gateway's children have in their environment.
 *
 * `find` adds to `found` the members of the sessions, those that bear the mark, and their descendants, while their parents
 * live. Where there is no /proc, the groups are all there is.
 */
const script = `
trap '' HUP INT QUIT TERM
groups=' '
while read -r sign group; do
  case "$sign$groups" in
    +*) groups="$groups$group " ;;
    -*" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;;
  esac
done
[ "$groups" = ' ' ] && exit 0
found=' '
add() {
  case "$found" in *" $1 "*) ;; *) found="$found$1 "; more=yes ;; esac
}
find() {
  all=
  for file in /proc/[0-9]*/stat; do
    { read -r line < "$file"; } 2>/dev/null || continue
    set -- "\${file#/proc/}" \${line##*) }
    case "$2" in Z | X) continue ;; esac
    all="$all \${1%/stat}:$3:$5"
  done
  for file in $(grep -lF "$mark" /proc/[0-9]*/environ 2>/dev/null); do
    file="\${file#/proc/}"
    add "\${file%/environ}"
  done
  more=yes
  while [ "$more" ]; do
    more=
    for entry in $all; do
      rest="\${entry#*:}"
      case "$groups" in *" \${rest#*:} "*) add "\${entry%%:*}" ;; esac
      case "$found" in *" \${rest%:*} "*) add "\${entry%%:*}" ;; esac
    done
  done
}
mark="$1"
find
for group in $groups; do kill -TERM "-$group"; done
for pid in $found; do kill -TERM "$pid"; done
sleep 1
before="$found"
found=' '
for pid in $before; do [ -d "/proc/$pid" ] && found="$found$pid "; done
find
for group in $groups; do kill -KILL "-$group"; done
for pid in $found; do kill -KILL "$pid"; done
`

/** It has nothing to do while there are no children; busy `stateless` servers need not start it for each call. */
const IDLE_MS = 60_000

/**
 * One small shell per gateway, whose children bear `mark`, while there are children, and for a minute after the last. Started again should somebody
 * kill it.
 */
export function createWatchdog(mark: string, idleMs = IDLE_MS): Watchdog {
  const groups = new Set<number>()
  let shell: ChildProcess | null = null
  let idle: NodeJS.Timeout | undefined

  const tell = (line: string) => shell?.stdin?.write(line)

  const start = () => {
    const started = spawn('/bin/sh', ['-c', script, 'sh', mark], {
      detached: true,
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore']
    })
    const forget = () => {
      if (shell === started) shell = null
    }
    started.once('error', forget)
    started.once('exit', forget)
    started.stdin.on('error', forget)
    started.unref()
    // the pipe must not keep the gateway's event loop alive
    ;(started.stdin as unknown as { unref(): void }).unref()
    shell = started
    for (const group of groups) tell(`+ ${group}\n`)
  }

  const release = () => {
    shell?.stdin?.end()
    shell = null
  }
  const releaseWhenIdle = () => {
    clearTimeout(idle)
    if (groups.size === 0) idle = setTimeout(release, idleMs).unref()
  }

  return {
    ready() {
      if (!shell) start()
      releaseWhenIdle()
    },
    add(group) {
      groups.add(group)
      clearTimeout(idle)
      tell(`+ ${group}\n`)
    },
    remove(group) {
      if (groups.delete(group)) tell(`- ${group}\n`)
      releaseWhenIdle()
    },
    close() {
      clearTimeout(idle)
      release()
    }
  }
}
