# fish completion of jitscope; what may come next it asks jitscope itself.

function __jitscope_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l before
    test (count $words) -gt 1; and set before $words[2..-1]
    for line in ($words[1] __complete $before "$current" 2>/dev/null)
        switch $line
            case ':file'
                __fish_complete_path "$current"
            case ':folder'
                __fish_complete_directories "$current"
            case ':command'
                __fish_complete_command
                __fish_complete_path "$current"
            case '*'
                echo $line
        end
    end
end

complete -c jitscope -f -a '(__jitscope_complete)'
