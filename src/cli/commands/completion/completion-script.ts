/** The shells that completion is there for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** One of {@link SHELLS}. */
export type Shell = (typeof SHELLS)[number];

/**
 * The script that a shell reads to complete the words of podloop. It asks `podloop __complete WORDS…`, which prints a
 * candidate a line, and last a line that begins with a colon: `:files` for names of files, `:nospace` when more is to be
 * written behind a candidate, else `:`.
 */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}

const BASH = String.raw`# bash completion for podloop; load it with: source <(podloop completion bash)
_podloop() {
    local cur="${'${'}COMP_WORDS[COMP_CWORD]}" line directive=":"
    local -a words=() candidates=()
    # Readline splits words at colons and equal signs; what belongs together is put together again.
    local word joined=0
    for word in "${'${'}COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ ${'${'}#words[@]} -gt 0 && ( $word == : || $word == = || $joined == 1 ) ]]; then
            words[${'${'}#words[@]}-1]+=$word
            [[ $word == : || $word == = ]] && joined=1 || joined=0
        else
            words+=("$word")
            joined=0
        fi
    done
    local last="${'${'}words[${'${'}#words[@]}-1]}" strip=""
    [[ $last == *[:=]* && $last != "$cur" ]] && strip="${'${'}last%"$cur"}"
    [[ $cur == : || $cur == = ]] && strip="$last"
    while IFS= read -r line; do
        if [[ $line == :* ]]; then directive=$line; else candidates+=("${'${'}line#"$strip"}"); fi
    done < <("${'${'}COMP_WORDS[0]}" __complete "${'${'}words[@]}" 2>/dev/null)
    COMPREPLY=()
    if [[ $directive == :files ]]; then
        compopt -o default 2>/dev/null
        return
    fi
    [[ $directive == :nospace ]] && compopt -o nospace 2>/dev/null
    COMPREPLY=("${'${'}candidates[@]}")
}
complete -F _podloop podloop`;

const ZSH = String.raw`#compdef podloop
# zsh completion for podloop; load it with: source <(podloop completion zsh)
_podloop() {
    local line directive=":"
    local -a candidates
    while IFS= read -r line; do
        if [[ $line == :* ]]; then directive=$line; else candidates+=("$line"); fi
    done < <("${'${'}words[1]}" __complete "${'${'}words[@]:1:$((CURRENT-1))}" 2>/dev/null)
    if [[ $directive == :files ]]; then
        _files
    elif [[ $directive == :nospace ]]; then
        compadd -S '' -a candidates
    else
        compadd -a candidates
    fi
}
if [[ $funcstack[1] == _podloop ]]; then _podloop "$@"; else compdef _podloop podloop; fi`;

const FISH = String.raw`# fish completion for podloop; load it with: podloop completion fish | source
function __podloop_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] 2>/dev/null)
    set -l directive $lines[-1]
    if test "$directive" = ":files"
        __fish_complete_path (commandline -ct)
    else
        for line in $lines[1..-2]
            echo $line
        end
    end
end
complete -c podloop -f -a '(__podloop_complete)'`;

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
