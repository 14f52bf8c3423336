# bash completion of jitscope; what may come next it asks jitscope itself.

_jitscope() {
  local program=${COMP_WORDS[0]} words=() word joined=0 i
  type -P -- "$program" >/dev/null || return
  # bash takes words apart at : and =; what belongs together is joined again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && { ((joined)) || [[ $word =~ ^[:=]+$ ]]; }; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
    [[ $word =~ ^[:=]+$ ]] && joined=1 || joined=0
  done
  local current=${words[-1]} quote='' before=''
  [[ $current == [\'\"]* ]] && quote=${current:0:1}
  for i in "${!words[@]}"; do
    words[i]=${words[i]#[\'\"]}
    words[i]=${words[i]%[\'\"]}
    words[i]=${words[i]//\\/}
  done
  current=${words[-1]}
  # Up to the last : or = it stays in the line as it is.
  [[ $quote ]] || before=${current%"${current##*[:=]}"}
  local values=() abouts=() line rest=${current#"$before"}
  while IFS= read -r line; do
    case $line in
      :file) compopt -o filenames 2>/dev/null; mapfile -t values < <(compgen -f -- "$rest") ;;
      :folder) compopt -o filenames 2>/dev/null; mapfile -t values < <(compgen -d -- "$rest") ;;
      :command) mapfile -t values < <(compgen -A command -A file -- "$rest") ;;
      *)
        word=${line%%$'\t'*}
        [[ $word == *[.=] ]] && compopt -o nospace 2>/dev/null
        word=${word#"$before"}
        # Names come from strangers: quoted, nothing in them is the shell's.
        [[ $quote || $word =~ ^[A-Za-z0-9_.,:/=@%+-]*$ ]] || printf -v word %q "$word"
        values+=("$word")
        abouts+=("${line#*$'\t'}")
        ;;
    esac
  done < <("$program" __complete "${words[@]}" 2>/dev/null)
  # The second Tab lists what there is: with what each is.
  if ((${#values[@]} > 1 && ${#abouts[@]} == ${#values[@]})) && [[ ${COMP_TYPE:-9} == 63 ]]; then
    for i in "${!values[@]}"; do
      [[ ${abouts[i]} ]] && printf -v "values[i]" '%-16s (%s)' "${values[i]}" "${abouts[i]}"
    done
  fi
  COMPREPLY=("${values[@]}")
}

complete -F _jitscope jitscope
