import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'

/**
 * Helper process that survives the gateway by a second and ends the child processes of a killed gateway
 * (security-model.md#child-process-isolation, LC-04).
 */
export interface Watchdog {
  /** Starts the helper unless it runs. Call before starting a child, so that no child is ever without it. */
  ensureRunning(): void
  add(group: number): void
  remove(group: number): void
  /** Releases the helper; it ends the groups that are still registered. */
  close(): void
}

/**
 * Reads `+ group` and `- group` lines. When the pipe closes, however the gateway died, the script ends the remaining
 * groups and their descendants: TERM, one second, KILL. It runs in its own session, out of reach of a terminal's
 * Ctrl-C, and traps signals meant for the gateway. `$1` is the beginning of the mark in the environment of the
 * gateway's children. `find` adds to `found` the members of the sessions, the marked processes, and their descendants,
 * while their parents live. Without /proc only the groups are ended.
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

/** Time without children before the helper ends; busy `stateless` servers need not start it for each call. */
const IDLE_MS = 60_000

/**
 * Creates the watchdog: one small shell per gateway, running while there are children and for a minute after the last.
 * Restarted if it is killed. `mark` is the mark of the gateway's children.
 */
export function createWatchdog(mark: string, idleMs = IDLE_MS): Watchdog {
  const groups = new Set<number>()
  let shell: ChildProcess | null = null
  let idle: NodeJS.Timeout | undefined

  const send = (line: string) => shell?.stdin?.write(line)

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
    for (const group of groups) send(`+ ${group}\n`)
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
    ensureRunning() {
      if (!shell) start()
      releaseWhenIdle()
    },
    add(group) {
      groups.add(group)
      clearTimeout(idle)
      send(`+ ${group}\n`)
    },
    remove(group) {
      if (groups.delete(group)) send(`- ${group}\n`)
      releaseWhenIdle()
    },
    close() {
      clearTimeout(idle)
      release()
    }
  }
}
