import { PRODUCT } from '../../domain/product.ts'
import { usage } from '../io/failure.ts'
import type { Action } from '../io/runner.ts'

/**
 * bash splits words at `:` and `=` and replaces only the part after them; bash 3.2 (macOS) lacks mapfile and compopt.
 */
const bash = `# bash completion for ${PRODUCT}: eval "$(${PRODUCT} completion bash)", or a file in bash-completion's folder
_${PRODUCT}() {
  local line="\${COMP_LINE:0:COMP_POINT}" current="\${COMP_WORDS[COMP_CWORD]}" candidate words
  # shellcheck disable=SC2162 # a backslash takes the meaning from what follows it, as on the line
  read -a words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  case $current in : | =) current='' ;; esac
  local typed="\${line##*[[:space:]]}"
  local prefix="\${typed%"$current"}"
  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ $candidate == :files ]]; then
      compopt -o default 2>/dev/null
      return
    fi
    COMPREPLY+=("\${candidate#"$prefix"}")
  done < <("\${words[0]/#\\~/$HOME}" __complete bash -- "\${words[@]:1}" 2>/dev/null)
}
complete -F _${PRODUCT} ${PRODUCT}
`

const zsh = `#compdef ${PRODUCT}
# zsh completion for ${PRODUCT}: a file _${PRODUCT} in a folder of $fpath, or source <(${PRODUCT} completion zsh)
_${PRODUCT}() {
  local line
  local -a values shown
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      _files
      return
    fi
    values+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done < <("\${words[1]}" __complete zsh -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  compadd -l -d shown -a values
}
if [[ $funcstack[1] == _${PRODUCT} ]]; then
  _${PRODUCT} "$@"
else
  compdef _${PRODUCT} ${PRODUCT}
fi
`

const fish = `# fish completion for ${PRODUCT}: ${PRODUCT} completion fish > ~/.config/fish/completions/${PRODUCT}.fish
function __${PRODUCT}_complete
  set -l line (commandline -opc)
  set -l candidates ($line[1] __complete fish -- $line[2..-1] (commandline -ct) 2>/dev/null)
  if test "$candidates[1]" = :files
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $candidates
  end
end
complete -c ${PRODUCT} -f -a '(__${PRODUCT}_complete)'
`

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish }

/** Prints the script, which runs the hidden command `__complete`, so that it never becomes outdated. */
export const completion: Action = async (cli, [shell = '']) => {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
  if (script === undefined) throw usage(`no completion for "${shell}"`, `supported: ${Object.keys(scripts).join(', ')}`)
  cli.out(script)
}
