/** Shells that a completion script is made for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** What the scripts call, with the words typed so far; hidden from help. */
export const COMPLETE_COMMAND = '__complete';
/** A candidate that stands for "complete file names here". */
export const FILES = ':files';

/** A script that teaches a shell to complete the command: it asks the command itself for every candidate. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}

// Candidates come one a line, as `word<TAB>what it is`. Ids and names have no character that a shell treats
// specially, so none of it is evaluated.
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for swarmwright. Load with: source <(swarmwright completion bash)
_swarmwright() {
  local line word
  COMPREPLY=()
  while IFS= read -r line; do
    word=\${line%%$'\\t'*}
    if [ "$word" = "${FILES}" ]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")
    elif [ -n "$word" ]; then
      COMPREPLY+=("$word")
    fi
  done < <(swarmwright ${COMPLETE_COMMAND} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _swarmwright swarmwright
`,
  zsh: `#compdef swarmwright
# zsh completion for swarmwright. Load with: source <(swarmwright completion zsh)
_swarmwright() {
  local line word files=0
  local -a candidates
  while IFS= read -r line; do
    word=\${line%%$'\\t'*}
    if [[ $word == "${FILES}" ]]; then
      files=1
    elif [[ -n $word ]]; then
      candidates+=("\${word//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done < <(swarmwright ${COMPLETE_COMMAND} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#candidates} )) && _describe swarmwright candidates
  (( files )) && _files
}
if [[ "\${funcstack[1]}" == _swarmwright ]]; then _swarmwright "$@"; else compdef _swarmwright swarmwright; fi
`,
  fish: `# fish completion for swarmwright. Load with: swarmwright completion fish | source
function __swarmwright_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (swarmwright ${COMPLETE_COMMAND} -- $words[2..-1] 2>/dev/null)
    if test "$line" = "${FILES}"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c swarmwright -f -a '(__swarmwright_complete)'
`,
};
