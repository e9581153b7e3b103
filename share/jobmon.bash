# bash completion of jobmon: written by `jobmon completion bash`
_jobmon() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} options= words= kind= i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "submit chain check run watch rerun restart mark group wait note notify archive mute ack replay cancel forget prune status top show logs progress report efficiency diagnose diff health why checkpoints restarts verify patrol handover init test-alerts test-discord inbox recover patterns where help completion -h --help -V --version" -- "$current"))
        return
    fi
    case $command in
        group) if ((COMP_CWORD > 2)); then command+=" ${COMP_WORDS[2]}"; fi ;;
        patterns) if ((COMP_CWORD > 2)); then command+=" ${COMP_WORDS[2]}"; fi ;;
    esac
    case $command in
        "submit") options="-h --help --backend --sentinel --no-agent --checked --job-config --group --restart --restart-on --max-restarts --resume-arg --set-aside --checkpoint-dir" words= kind="file" ;;
        "chain") options="-h --help --backend --after" words= kind="text" ;;
        "check") options="-h --help --all --backend --json --on-node --restart --wait" words= kind="file" ;;
        "run") options="-h --help --name --job-name -o --output -e --error --gpu-ids --strict --host --chdir --files --job-config --num-workers --total-items --log-dir --log-pattern --output-dir --output-pattern --checkpoint-dir --checkpoint-pattern --stall-timeout --check-interval --no-agent --launch-timeout --restart --restart-on --max-restarts --resume-arg --set-aside" words= kind="file" ;;
        "watch") options="-h --help --host --error --output --again --follow --backend --address --all --pid --pid-file --process --each --log --name --job-name --gpu-ids --job-config --num-workers --total-items --log-dir --log-pattern --output-dir --output-pattern --checkpoint-dir --checkpoint-pattern --stall-timeout --check-interval --no-agent --launch-timeout" words= kind="job" ;;
        "rerun") options="-h --help --yes" words= kind="job" ;;
        "restart") options="-h --help --from --dry-run --yes --off --hold --release --drill --at" words= kind="job" ;;
        "mark") options="-h --help -s --status --note" words= kind="text" ;;
        "group") options="-h --help" words="add submit status list wait log cancel hold release resubmit-failed forget" ;;
        "group add") options="-h --help --name --as --interval --messages --then --stop-after --hold-when-broken" words= kind="text" ;;
        "group submit") options="-h --help --backend --retry-unclear --interval --messages --then --stop-after --hold-when-broken" words= kind="text" ;;
        "group status") options="-h --help --json" words= kind="text" ;;
        "group list") options="-h --help --json" ;;
        "group wait") options="-h --help --for --json" words= kind="text" ;;
        "group log") options="-h --help -n --lines -f --follow" words= kind="text" ;;
        "group cancel") options="-h --help --yes" words= kind="text" ;;
        "group hold") options="-h --help --yes" words= kind="text" ;;
        "group release") options="-h --help --yes" words= kind="text" ;;
        "group resubmit-failed") options="-h --help --retry-unclear --yes" words= kind="text" ;;
        "group forget") options="-h --help" words= kind="text" ;;
        "wait") options="-h --help --for --json" words= kind="job" ;;
        "note") options="-h --help" words= kind="job" ;;
        "notify") options="-h --help -l --level -t --title --wait" words= kind="text" ;;
        "archive") options="-h --help --checkpoint" words= kind="job" ;;
        "mute") options="-h --help --off --json" words= kind="job" ;;
        "ack") options="-h --help" words= kind="job" ;;
        "replay") options="-h --help" words= kind="job" ;;
        "cancel") options="-h --help" words= kind="job" ;;
        "forget") options="-h --help --given-up --messages" words= kind="job" ;;
        "prune") options="-h --help --older-than --dry-run --yes" ;;
        "status") options="-h --help --failed --running --pending --name --since --limit --all --watch --json" words= kind="job" ;;
        "top") options="-h --help --once --ascii" words= kind="job" ;;
        "show") options="-h --help --all --json" words= kind="job" ;;
        "logs") options="-h --help -f --follow -n --lines --out --err --monitor" words= kind="job" ;;
        "progress") options="-h --help -f --follow --json" words= kind="job or file" ;;
        "report") options="-h --help --html --json" words= kind="job" ;;
        "efficiency") options="-h --help --since --json" words= kind="job" ;;
        "diagnose") options="-h --help --stacks --state --exit-code --json" words= kind="job or file" ;;
        "diff") options="-h --help --json" words= kind="job" ;;
        "health") options="-h --help --pod --namespace -n --checkpoints --json" words= kind="job" ;;
        "why") options="-h --help --json" words= kind="job" ;;
        "checkpoints") options="-h --help --json" words= kind="job" ;;
        "restarts") options="-h --help --json" words= kind="job" ;;
        "verify") options="-h --help --against --count --size --sha256 --records --json" words= kind="job" ;;
        "patrol") options="-h --help --json --to --install --uninstall --yes --unattended --every" words= kind="job" ;;
        "handover") options="-h --help --output -o" words= kind="job" ;;
        "init") options="-h --help --phone --no-check" ;;
        "test-alerts") options="-h --help" words= kind="text" ;;
        "test-discord") options="-h --help --largest" ;;
        "inbox") options="-h --help --port" ;;
        "recover") options="-h --help --install --uninstall --yes --quiet --stay" ;;
        "patterns") options="-h --help" words="list check test" ;;
        "patterns list") options="-h --help --json" words= kind="text" ;;
        "patterns check") options="-h --help" words= kind="file" ;;
        "patterns test") options="-h --help" words= kind="file" ;;
        "where") options="-h --help" ;;
        "help") options="-h --help" words="submit chain check run watch rerun restart mark group wait note notify archive mute ack replay cancel forget prune status top show logs progress report efficiency diagnose diff health why checkpoints restarts verify patrol handover init test-alerts test-discord inbox recover patterns where help completion" kind= ;;
        "completion") options="-h --help" words="bash zsh fish jobs" kind= ;;
    esac
    case "$command $before" in
        "submit --backend") options= words="slurm local ray" kind= ;;
        "submit --job-config") options= words= kind="file" ;;
        "submit --group") options= words= kind="text" ;;
        "submit --restart") words= kind="text" ;;
        "submit --restart-on") options= words= kind="text" ;;
        "submit --max-restarts") options= words= kind="text" ;;
        "submit --resume-arg") options= words= kind="text" ;;
        "submit --checkpoint-dir") options= words= kind="text" ;;
        "chain --backend") options= words="slurm local" kind= ;;
        "chain --after") options= words= kind="job" ;;
        "check --backend") options= words="slurm local" kind= ;;
        "check --wait") options= words= kind="text" ;;
        "run --name"|"run --job-name") options= words= kind="text" ;;
        "run -o"|"run --output") options= words= kind="file" ;;
        "run -e"|"run --error") options= words= kind="file" ;;
        "run --gpu-ids") options= words= kind="text" ;;
        "run --host") options= words= kind="text" ;;
        "run --chdir") options= words= kind="text" ;;
        "run --files") options= words= kind="text" ;;
        "run --job-config") options= words= kind="file" ;;
        "run --num-workers") options= words= kind="text" ;;
        "run --total-items") options= words= kind="text" ;;
        "run --log-dir") options= words= kind="file" ;;
        "run --log-pattern") options= words= kind="text" ;;
        "run --output-dir") options= words= kind="file" ;;
        "run --output-pattern") options= words= kind="text" ;;
        "run --checkpoint-dir") options= words= kind="file" ;;
        "run --checkpoint-pattern") options= words= kind="text" ;;
        "run --stall-timeout") options= words= kind="text" ;;
        "run --check-interval") options= words= kind="text" ;;
        "run --launch-timeout") options= words= kind="text" ;;
        "run --restart") words= kind="text" ;;
        "run --restart-on") options= words= kind="text" ;;
        "run --max-restarts") options= words= kind="text" ;;
        "run --resume-arg") options= words= kind="text" ;;
        "watch --host") options= words= kind="text" ;;
        "watch --error") options= words= kind="file" ;;
        "watch --output") options= words= kind="file" ;;
        "watch --backend") options= words="slurm local ray" kind= ;;
        "watch --address") options= words= kind="text" ;;
        "watch --pid") options= words= kind="text" ;;
        "watch --pid-file") options= words= kind="file" ;;
        "watch --process") options= words= kind="text" ;;
        "watch --log") options= words= kind="file" ;;
        "watch --name"|"watch --job-name") options= words= kind="text" ;;
        "watch --gpu-ids") options= words= kind="text" ;;
        "watch --job-config") options= words= kind="file" ;;
        "watch --num-workers") options= words= kind="text" ;;
        "watch --total-items") options= words= kind="text" ;;
        "watch --log-dir") options= words= kind="file" ;;
        "watch --log-pattern") options= words= kind="text" ;;
        "watch --output-dir") options= words= kind="file" ;;
        "watch --output-pattern") options= words= kind="text" ;;
        "watch --checkpoint-dir") options= words= kind="file" ;;
        "watch --checkpoint-pattern") options= words= kind="text" ;;
        "watch --stall-timeout") options= words= kind="text" ;;
        "watch --check-interval") options= words= kind="text" ;;
        "watch --launch-timeout") options= words= kind="text" ;;
        "restart --from") options= words= kind="text" ;;
        "restart --at") options= words= kind="text" ;;
        "mark -s"|"mark --status") options= words= kind="text" ;;
        "mark --note") options= words= kind="text" ;;
        "group add --name") options= words= kind="text" ;;
        "group add --as") options= words= kind="text" ;;
        "group add --interval") options= words= kind="text" ;;
        "group add --messages") options= words="all failures none" kind= ;;
        "group add --then") options= words="submit chain check run watch rerun restart mark group wait note notify archive mute ack replay cancel forget prune status top show logs progress report efficiency diagnose diff health why checkpoints restarts verify patrol handover init test-alerts test-discord inbox recover patterns where help completion" kind= ;;
        "group add --stop-after") options= words= kind="text" ;;
        "group submit --backend") options= words= kind="text" ;;
        "group submit --interval") options= words= kind="text" ;;
        "group submit --messages") options= words="all failures none" kind= ;;
        "group submit --then") options= words="submit chain check run watch rerun restart mark group wait note notify archive mute ack replay cancel forget prune status top show logs progress report efficiency diagnose diff health why checkpoints restarts verify patrol handover init test-alerts test-discord inbox recover patterns where help completion" kind= ;;
        "group submit --stop-after") options= words= kind="text" ;;
        "group wait --for") options= words= kind="text" ;;
        "group log -n"|"group log --lines") options= words= kind="text" ;;
        "wait --for") options= words= kind="text" ;;
        "notify -l"|"notify --level") options= words="critical warning info progress" kind= ;;
        "notify -t"|"notify --title") options= words= kind="text" ;;
        "notify --wait") options= words= kind="text" ;;
        "prune --older-than") options= words= kind="text" ;;
        "status --name") options= words= kind="text" ;;
        "status --since") options= words= kind="text" ;;
        "status --limit") options= words= kind="text" ;;
        "logs -n"|"logs --lines") options= words= kind="text" ;;
        "report --html") options= words= kind="file" ;;
        "efficiency --since") options= words= kind="text" ;;
        "diagnose --state") options= words= kind="text" ;;
        "diagnose --exit-code") options= words= kind="text" ;;
        "health --pod") options= words= kind="text" ;;
        "health --namespace"|"health -n") options= words= kind="text" ;;
        "health --checkpoints") options= words= kind="text" ;;
        "verify --against") options= words= kind="text" ;;
        "verify --records") options= words= kind="text" ;;
        "patrol --to") options= words= kind="text" ;;
        "patrol --install") words="best cron systemd scrontab" kind= ;;
        "patrol --every") options= words= kind="text" ;;
        "handover --output"|"handover -o") options= words= kind="file" ;;
        "inbox --port") options= words= kind="text" ;;
        "recover --install") words="best cron systemd scrontab" kind= ;;
    esac
    if [[ $command == submit ]]; then  # what follows the options of jobmon is for sbatch
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
                -h|--help|--sentinel|--no-agent|--checked|--set-aside) ;;
                --backend|--job-config|--group|--restart|--restart-on|--max-restarts|--resume-arg|--checkpoint-dir) ((i++)) ;;
                *) options= ;;
            esac
        done
    fi
    if [[ $current == -* ]]; then
        words=$options kind=
    elif [[ $kind == job* ]]; then
        words=$("${COMP_WORDS[0]}" completion jobs 2>/dev/null)
    elif [[ -z $words$kind ]]; then
        words=$options
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [[ $kind == *file && -z ${COMPREPLY[*]} ]]; then compopt -o default; fi
}
complete -F _jobmon jobmon
