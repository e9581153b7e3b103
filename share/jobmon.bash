# written by `jobmon completion bash`, with shtab
# Usage:
# 1) Copy this to somewhere (e.g. ~/.local/share/bash_completion/jobmon).
# 2) Add the following line to your .bashrc:
#    source ~/.local/share/bash_completion/jobmon
# See also: https://github.com/scop/bash-completion/blob/main/doc/configuration.md

_shtab_jobmon_group_subparsers=(add submit status list wait log cancel hold release resubmit-failed forget)
_shtab_jobmon_patterns_subparsers=(list check test)
_shtab_jobmon_subparsers=(submit chain check run watch rerun restart group wait cancel status top show logs progress diagnose diff report web history digest nodes efficiency checkpoints restarts patrol handover notify mute note forget init connect test test-discord recover help ack archive completion health inbox mark mcp patterns prune replay test-alerts verify where why)

_shtab_jobmon_submit_option_strings=(-h --help --backend --sentinel --no-agent --checked --job-config --group --restart --restart-on --max-restarts --resume-arg --set-aside --checkpoint-dir)
_shtab_jobmon_chain_option_strings=(-h --help --backend --after)
_shtab_jobmon_check_option_strings=(-h --help --all --backend --json --on-node --restart --wait)
_shtab_jobmon_run_option_strings=(-h --help --name --job-name -o --output -e --error --gpu-ids --strict --host --chdir --files --job-config --num-workers --total-items --log-dir --log-pattern --output-dir --output-pattern --checkpoint-dir --checkpoint-pattern --stall-timeout --check-interval --progress-every --no-agent --launch-timeout --restart --restart-on --max-restarts --resume-arg --set-aside)
_shtab_jobmon_watch_option_strings=(-h --help --host --pod --error --output --again --follow --backend --address --all --context --namespace --selector --pid --pid-file --process --each --log --name --job-name --gpu-ids --job-config --num-workers --total-items --log-dir --log-pattern --output-dir --output-pattern --checkpoint-dir --checkpoint-pattern --stall-timeout --check-interval --progress-every --no-agent --launch-timeout)
_shtab_jobmon_rerun_option_strings=(-h --help --yes)
_shtab_jobmon_restart_option_strings=(-h --help --from --dry-run --yes --off --hold --release --drill --at)
_shtab_jobmon_group_add_option_strings=(-h --help --name --as --interval --messages --then --stop-after --hold-when-broken)
_shtab_jobmon_group_submit_option_strings=(-h --help --backend --retry-unclear --interval --messages --then --stop-after --hold-when-broken)
_shtab_jobmon_group_status_option_strings=(-h --help --json)
_shtab_jobmon_group_list_option_strings=(-h --help --json)
_shtab_jobmon_group_wait_option_strings=(-h --help --for --json)
_shtab_jobmon_group_log_option_strings=(-h --help -n --lines -f --follow)
_shtab_jobmon_group_cancel_option_strings=(-h --help --yes)
_shtab_jobmon_group_hold_option_strings=(-h --help --yes)
_shtab_jobmon_group_release_option_strings=(-h --help --yes)
_shtab_jobmon_group_resubmit_failed_option_strings=(-h --help --retry-unclear --yes)
_shtab_jobmon_group_forget_option_strings=(-h --help)
_shtab_jobmon_group_option_strings=(-h --help)
_shtab_jobmon_wait_option_strings=(-h --help --for --json)
_shtab_jobmon_cancel_option_strings=(-h --help)
_shtab_jobmon_status_option_strings=(-h --help --failed --running --pending --name --since --limit --all --watch --json)
_shtab_jobmon_top_option_strings=(-h --help --once --ascii)
_shtab_jobmon_show_option_strings=(-h --help --all --json)
_shtab_jobmon_logs_option_strings=(-h --help -f --follow -n --lines --out --err --monitor)
_shtab_jobmon_progress_option_strings=(-h --help -f --follow --json)
_shtab_jobmon_diagnose_option_strings=(-h --help --stacks --state --exit-code --json)
_shtab_jobmon_diff_option_strings=(-h --help --json)
_shtab_jobmon_report_option_strings=(-h --help --html --json)
_shtab_jobmon_web_option_strings=(-h --help --port --connect --allow-actions --stdio --idle)
_shtab_jobmon_history_option_strings=(-h --help --name --group --cause --node --since --state --by --cost --sort -n --lines --json --html --csv)
_shtab_jobmon_digest_option_strings=(-h --help --daily --weekly --json --to --install --uninstall --yes --unattended)
_shtab_jobmon_nodes_option_strings=(-h --help --since --json)
_shtab_jobmon_efficiency_option_strings=(-h --help --since --json)
_shtab_jobmon_checkpoints_option_strings=(-h --help --json)
_shtab_jobmon_restarts_option_strings=(-h --help --json)
_shtab_jobmon_patrol_option_strings=(-h --help --json --to --install --uninstall --yes --unattended --every)
_shtab_jobmon_handover_option_strings=(-h --help --output -o)
_shtab_jobmon_notify_option_strings=(-h --help -l --level -t --title --wait)
_shtab_jobmon_mute_option_strings=(-h --help --off --json)
_shtab_jobmon_note_option_strings=(-h --help)
_shtab_jobmon_forget_option_strings=(-h --help --given-up --messages --history --older-than --dry-run --yes)
_shtab_jobmon_init_option_strings=(-h --help --phone --no-check)
_shtab_jobmon_connect_option_strings=(-h --help --close --list --json)
_shtab_jobmon_test_option_strings=(-h --help)
_shtab_jobmon_test_discord_option_strings=(-h --help --largest)
_shtab_jobmon_recover_option_strings=(-h --help --install --uninstall --yes --quiet --stay)
_shtab_jobmon_help_option_strings=(-h --help)
_shtab_jobmon_ack_option_strings=(-h --help)
_shtab_jobmon_archive_option_strings=(-h --help --checkpoint)
_shtab_jobmon_completion_option_strings=(-h --help)
_shtab_jobmon_health_option_strings=(-h --help --pod --namespace -n --checkpoints --json)
_shtab_jobmon_inbox_option_strings=(-h --help --port)
_shtab_jobmon_mark_option_strings=(-h --help -s --status --note)
_shtab_jobmon_mcp_option_strings=(-h --help --print-config --ssh --allow-actions --root)
_shtab_jobmon_patterns_list_option_strings=(-h --help --json)
_shtab_jobmon_patterns_check_option_strings=(-h --help)
_shtab_jobmon_patterns_test_option_strings=(-h --help)
_shtab_jobmon_patterns_option_strings=(-h --help)
_shtab_jobmon_prune_option_strings=(-h --help --given-up --messages --history --older-than --dry-run --yes)
_shtab_jobmon_replay_option_strings=(-h --help)
_shtab_jobmon_test_alerts_option_strings=(-h --help)
_shtab_jobmon_verify_option_strings=(-h --help --against --count --size --sha256 --records --json)
_shtab_jobmon_where_option_strings=(-h --help)
_shtab_jobmon_why_option_strings=(-h --help --json)
_shtab_jobmon_option_strings=(-h --help -V --version)

_shtab_jobmon_submit_pos_0_COMPGEN=_shtab_compgen_files
_shtab_jobmon_submit___job_config_COMPGEN=_shtab_compgen_files
_shtab_jobmon_chain___after_COMPGEN=_jobmon_jobs
_shtab_jobmon_check_pos_0_COMPGEN=_shtab_compgen_files
_shtab_jobmon_run_pos_0_COMPGEN=_shtab_compgen_files
_shtab_jobmon_run__o_COMPGEN=_shtab_compgen_files
_shtab_jobmon_run___output_COMPGEN=_shtab_compgen_files
_shtab_jobmon_run__e_COMPGEN=_shtab_compgen_files
_shtab_jobmon_run___error_COMPGEN=_shtab_compgen_files
_shtab_jobmon_run___job_config_COMPGEN=_shtab_compgen_files
_shtab_jobmon_run___log_dir_COMPGEN=_shtab_compgen_files
_shtab_jobmon_run___output_dir_COMPGEN=_shtab_compgen_files
_shtab_jobmon_run___checkpoint_dir_COMPGEN=_shtab_compgen_files
_shtab_jobmon_watch_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_watch___error_COMPGEN=_shtab_compgen_files
_shtab_jobmon_watch___output_COMPGEN=_shtab_compgen_files
_shtab_jobmon_watch___pid_file_COMPGEN=_shtab_compgen_files
_shtab_jobmon_watch___log_COMPGEN=_shtab_compgen_files
_shtab_jobmon_watch___job_config_COMPGEN=_shtab_compgen_files
_shtab_jobmon_watch___log_dir_COMPGEN=_shtab_compgen_files
_shtab_jobmon_watch___output_dir_COMPGEN=_shtab_compgen_files
_shtab_jobmon_watch___checkpoint_dir_COMPGEN=_shtab_compgen_files
_shtab_jobmon_rerun_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_rerun_pos_1_COMPGEN=_shtab_compgen_files
_shtab_jobmon_restart_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_group_add_pos_1_COMPGEN=_jobmon_jobs
_shtab_jobmon_group_submit_pos_1_COMPGEN=_shtab_compgen_files
_shtab_jobmon_group_resubmit_failed_pos_1_COMPGEN=_shtab_compgen_files
_shtab_jobmon_wait_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_cancel_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_status_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_top_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_show_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_logs_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_progress_pos_0_COMPGEN=_jobmon_jobs_or_files
_shtab_jobmon_diagnose_pos_0_COMPGEN=_jobmon_jobs_or_files
_shtab_jobmon_diff_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_report_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_report___html_COMPGEN=_shtab_compgen_files
_shtab_jobmon_history_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_history___html_COMPGEN=_shtab_compgen_files
_shtab_jobmon_efficiency_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_checkpoints_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_restarts_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_patrol_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_handover_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_handover___output_COMPGEN=_shtab_compgen_files
_shtab_jobmon_handover__o_COMPGEN=_shtab_compgen_files
_shtab_jobmon_mute_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_note_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_forget_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_help_pos_0_COMPGEN=_jobmon_commands
_shtab_jobmon_ack_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_archive_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_archive_pos_1_COMPGEN=_shtab_compgen_files
_shtab_jobmon_health_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_patterns_check_pos_0_COMPGEN=_shtab_compgen_files
_shtab_jobmon_patterns_test_pos_0_COMPGEN=_shtab_compgen_files
_shtab_jobmon_prune_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_replay_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_verify_pos_0_COMPGEN=_jobmon_jobs
_shtab_jobmon_why_pos_0_COMPGEN=_jobmon_jobs

_shtab_jobmon_submit___backend_choices=(slurm local pbs ray kubernetes)
_shtab_jobmon_chain___backend_choices=(slurm local pbs)
_shtab_jobmon_check___backend_choices=(slurm local pbs)
_shtab_jobmon_watch___backend_choices=(slurm local pbs ray kubernetes)
_shtab_jobmon_group_add___messages_choices=(all failures none)
_shtab_jobmon_group_submit___messages_choices=(all failures none)
_shtab_jobmon_group_pos_0_choices=(add submit status list wait log cancel hold release resubmit-failed forget)
_shtab_jobmon_history___by_choices=(name day week month cause node group state)
_shtab_jobmon_history___sort_choices=(ended wait time gpu-hours cpu-hours cost)
_shtab_jobmon_digest___install_choices=(best cron systemd scrontab)
_shtab_jobmon_patrol___install_choices=(best cron systemd scrontab)
_shtab_jobmon_notify__l_choices=(critical warning info progress)
_shtab_jobmon_notify___level_choices=(critical warning info progress)
_shtab_jobmon_recover___install_choices=(best cron systemd scrontab)
_shtab_jobmon_completion_pos_0_choices=(bash zsh fish jobs)
_shtab_jobmon_mcp___print_config_choices=(claude codex cursor)
_shtab_jobmon_patterns_pos_0_choices=(list check test)
_shtab_jobmon_pos_0_choices=(submit chain check run watch rerun restart group wait cancel status top show logs progress diagnose diff report web history digest nodes efficiency checkpoints restarts patrol handover notify mute note forget init connect test test-discord recover help ack archive completion health inbox mark mcp patterns prune replay test-alerts verify where why)

_shtab_jobmon_submit_pos_0_nargs='*'
_shtab_jobmon_submit__h_nargs=0
_shtab_jobmon_submit___help_nargs=0
_shtab_jobmon_submit___sentinel_nargs=0
_shtab_jobmon_submit___no_agent_nargs=0
_shtab_jobmon_submit___checked_nargs=0
_shtab_jobmon_submit___restart_nargs='?'
_shtab_jobmon_submit___set_aside_nargs=0
_shtab_jobmon_chain_pos_0_nargs=+
_shtab_jobmon_chain__h_nargs=0
_shtab_jobmon_chain___help_nargs=0
_shtab_jobmon_check_pos_0_nargs='*'
_shtab_jobmon_check__h_nargs=0
_shtab_jobmon_check___help_nargs=0
_shtab_jobmon_check___all_nargs=0
_shtab_jobmon_check___json_nargs=0
_shtab_jobmon_check___on_node_nargs=0
_shtab_jobmon_check___restart_nargs=0
_shtab_jobmon_run_pos_0_nargs=...
_shtab_jobmon_run__h_nargs=0
_shtab_jobmon_run___help_nargs=0
_shtab_jobmon_run___gpu_ids_nargs=+
_shtab_jobmon_run___strict_nargs=0
_shtab_jobmon_run___no_agent_nargs=0
_shtab_jobmon_run___restart_nargs='?'
_shtab_jobmon_run___set_aside_nargs=0
_shtab_jobmon_watch_pos_0_nargs='*'
_shtab_jobmon_watch__h_nargs=0
_shtab_jobmon_watch___help_nargs=0
_shtab_jobmon_watch___again_nargs=0
_shtab_jobmon_watch___follow_nargs=0
_shtab_jobmon_watch___all_nargs=0
_shtab_jobmon_watch___pid_nargs=+
_shtab_jobmon_watch___each_nargs=0
_shtab_jobmon_watch___log_nargs=+
_shtab_jobmon_watch___gpu_ids_nargs=+
_shtab_jobmon_watch___no_agent_nargs=0
_shtab_jobmon_rerun_pos_1_nargs=...
_shtab_jobmon_rerun__h_nargs=0
_shtab_jobmon_rerun___help_nargs=0
_shtab_jobmon_rerun___yes_nargs=0
_shtab_jobmon_restart__h_nargs=0
_shtab_jobmon_restart___help_nargs=0
_shtab_jobmon_restart___dry_run_nargs=0
_shtab_jobmon_restart___yes_nargs=0
_shtab_jobmon_restart___off_nargs=0
_shtab_jobmon_restart___hold_nargs=0
_shtab_jobmon_restart___release_nargs=0
_shtab_jobmon_restart___drill_nargs=0
_shtab_jobmon_group_add_pos_1_nargs='*'
_shtab_jobmon_group_add__h_nargs=0
_shtab_jobmon_group_add___help_nargs=0
_shtab_jobmon_group_add___hold_when_broken_nargs=0
_shtab_jobmon_group_submit__h_nargs=0
_shtab_jobmon_group_submit___help_nargs=0
_shtab_jobmon_group_submit___retry_unclear_nargs=0
_shtab_jobmon_group_submit___hold_when_broken_nargs=0
_shtab_jobmon_group_status__h_nargs=0
_shtab_jobmon_group_status___help_nargs=0
_shtab_jobmon_group_status___json_nargs=0
_shtab_jobmon_group_list__h_nargs=0
_shtab_jobmon_group_list___help_nargs=0
_shtab_jobmon_group_list___json_nargs=0
_shtab_jobmon_group_wait__h_nargs=0
_shtab_jobmon_group_wait___help_nargs=0
_shtab_jobmon_group_wait___json_nargs=0
_shtab_jobmon_group_log__h_nargs=0
_shtab_jobmon_group_log___help_nargs=0
_shtab_jobmon_group_log__f_nargs=0
_shtab_jobmon_group_log___follow_nargs=0
_shtab_jobmon_group_cancel__h_nargs=0
_shtab_jobmon_group_cancel___help_nargs=0
_shtab_jobmon_group_cancel___yes_nargs=0
_shtab_jobmon_group_hold__h_nargs=0
_shtab_jobmon_group_hold___help_nargs=0
_shtab_jobmon_group_hold___yes_nargs=0
_shtab_jobmon_group_release__h_nargs=0
_shtab_jobmon_group_release___help_nargs=0
_shtab_jobmon_group_release___yes_nargs=0
_shtab_jobmon_group_resubmit_failed_pos_1_nargs=...
_shtab_jobmon_group_resubmit_failed__h_nargs=0
_shtab_jobmon_group_resubmit_failed___help_nargs=0
_shtab_jobmon_group_resubmit_failed___retry_unclear_nargs=0
_shtab_jobmon_group_resubmit_failed___yes_nargs=0
_shtab_jobmon_group_forget__h_nargs=0
_shtab_jobmon_group_forget___help_nargs=0
_shtab_jobmon_group_pos_0_nargs=A...
_shtab_jobmon_group__h_nargs=0
_shtab_jobmon_group___help_nargs=0
_shtab_jobmon_wait_pos_0_nargs=+
_shtab_jobmon_wait__h_nargs=0
_shtab_jobmon_wait___help_nargs=0
_shtab_jobmon_wait___json_nargs=0
_shtab_jobmon_cancel_pos_0_nargs=+
_shtab_jobmon_cancel__h_nargs=0
_shtab_jobmon_cancel___help_nargs=0
_shtab_jobmon_status_pos_0_nargs='*'
_shtab_jobmon_status__h_nargs=0
_shtab_jobmon_status___help_nargs=0
_shtab_jobmon_status___failed_nargs=0
_shtab_jobmon_status___running_nargs=0
_shtab_jobmon_status___pending_nargs=0
_shtab_jobmon_status___all_nargs=0
_shtab_jobmon_status___watch_nargs=0
_shtab_jobmon_status___json_nargs=0
_shtab_jobmon_top_pos_0_nargs='*'
_shtab_jobmon_top__h_nargs=0
_shtab_jobmon_top___help_nargs=0
_shtab_jobmon_top___once_nargs=0
_shtab_jobmon_top___ascii_nargs=0
_shtab_jobmon_show_pos_0_nargs=+
_shtab_jobmon_show__h_nargs=0
_shtab_jobmon_show___help_nargs=0
_shtab_jobmon_show___all_nargs=0
_shtab_jobmon_show___json_nargs=0
_shtab_jobmon_logs__h_nargs=0
_shtab_jobmon_logs___help_nargs=0
_shtab_jobmon_logs__f_nargs=0
_shtab_jobmon_logs___follow_nargs=0
_shtab_jobmon_logs___out_nargs=0
_shtab_jobmon_logs___err_nargs=0
_shtab_jobmon_logs___monitor_nargs=0
_shtab_jobmon_progress_pos_0_nargs=+
_shtab_jobmon_progress__h_nargs=0
_shtab_jobmon_progress___help_nargs=0
_shtab_jobmon_progress__f_nargs=0
_shtab_jobmon_progress___follow_nargs=0
_shtab_jobmon_progress___json_nargs=0
_shtab_jobmon_diagnose_pos_0_nargs=+
_shtab_jobmon_diagnose__h_nargs=0
_shtab_jobmon_diagnose___help_nargs=0
_shtab_jobmon_diagnose___stacks_nargs=0
_shtab_jobmon_diagnose___json_nargs=0
_shtab_jobmon_diff__h_nargs=0
_shtab_jobmon_diff___help_nargs=0
_shtab_jobmon_diff___json_nargs=0
_shtab_jobmon_report__h_nargs=0
_shtab_jobmon_report___help_nargs=0
_shtab_jobmon_report___json_nargs=0
_shtab_jobmon_web__h_nargs=0
_shtab_jobmon_web___help_nargs=0
_shtab_jobmon_web___allow_actions_nargs=0
_shtab_jobmon_web___stdio_nargs=0
_shtab_jobmon_history__h_nargs=0
_shtab_jobmon_history___help_nargs=0
_shtab_jobmon_history___cost_nargs=0
_shtab_jobmon_history___json_nargs=0
_shtab_jobmon_history___csv_nargs=0
_shtab_jobmon_digest__h_nargs=0
_shtab_jobmon_digest___help_nargs=0
_shtab_jobmon_digest___daily_nargs=0
_shtab_jobmon_digest___weekly_nargs=0
_shtab_jobmon_digest___json_nargs=0
_shtab_jobmon_digest___install_nargs='?'
_shtab_jobmon_digest___uninstall_nargs=0
_shtab_jobmon_digest___yes_nargs=0
_shtab_jobmon_digest___unattended_nargs=0
_shtab_jobmon_nodes__h_nargs=0
_shtab_jobmon_nodes___help_nargs=0
_shtab_jobmon_nodes___json_nargs=0
_shtab_jobmon_efficiency_pos_0_nargs='*'
_shtab_jobmon_efficiency__h_nargs=0
_shtab_jobmon_efficiency___help_nargs=0
_shtab_jobmon_efficiency___json_nargs=0
_shtab_jobmon_checkpoints__h_nargs=0
_shtab_jobmon_checkpoints___help_nargs=0
_shtab_jobmon_checkpoints___json_nargs=0
_shtab_jobmon_restarts__h_nargs=0
_shtab_jobmon_restarts___help_nargs=0
_shtab_jobmon_restarts___json_nargs=0
_shtab_jobmon_patrol_pos_0_nargs='*'
_shtab_jobmon_patrol__h_nargs=0
_shtab_jobmon_patrol___help_nargs=0
_shtab_jobmon_patrol___json_nargs=0
_shtab_jobmon_patrol___install_nargs='?'
_shtab_jobmon_patrol___uninstall_nargs=0
_shtab_jobmon_patrol___yes_nargs=0
_shtab_jobmon_patrol___unattended_nargs=0
_shtab_jobmon_handover_pos_0_nargs='*'
_shtab_jobmon_handover__h_nargs=0
_shtab_jobmon_handover___help_nargs=0
_shtab_jobmon_notify_pos_0_nargs=+
_shtab_jobmon_notify__h_nargs=0
_shtab_jobmon_notify___help_nargs=0
_shtab_jobmon_mute__h_nargs=0
_shtab_jobmon_mute___help_nargs=0
_shtab_jobmon_mute___off_nargs=0
_shtab_jobmon_mute___json_nargs=0
_shtab_jobmon_note_pos_1_nargs=+
_shtab_jobmon_note__h_nargs=0
_shtab_jobmon_note___help_nargs=0
_shtab_jobmon_forget_pos_0_nargs='*'
_shtab_jobmon_forget__h_nargs=0
_shtab_jobmon_forget___help_nargs=0
_shtab_jobmon_forget___given_up_nargs=0
_shtab_jobmon_forget___messages_nargs=0
_shtab_jobmon_forget___history_nargs=0
_shtab_jobmon_forget___dry_run_nargs=0
_shtab_jobmon_forget___yes_nargs=0
_shtab_jobmon_init__h_nargs=0
_shtab_jobmon_init___help_nargs=0
_shtab_jobmon_init___phone_nargs=0
_shtab_jobmon_init___no_check_nargs=0
_shtab_jobmon_connect__h_nargs=0
_shtab_jobmon_connect___help_nargs=0
_shtab_jobmon_connect___close_nargs=0
_shtab_jobmon_connect___list_nargs=0
_shtab_jobmon_connect___json_nargs=0
_shtab_jobmon_test_pos_0_nargs='*'
_shtab_jobmon_test__h_nargs=0
_shtab_jobmon_test___help_nargs=0
_shtab_jobmon_test_discord__h_nargs=0
_shtab_jobmon_test_discord___help_nargs=0
_shtab_jobmon_test_discord___largest_nargs=0
_shtab_jobmon_recover__h_nargs=0
_shtab_jobmon_recover___help_nargs=0
_shtab_jobmon_recover___install_nargs='?'
_shtab_jobmon_recover___uninstall_nargs=0
_shtab_jobmon_recover___yes_nargs=0
_shtab_jobmon_recover___quiet_nargs=0
_shtab_jobmon_recover___stay_nargs=0
_shtab_jobmon_help__h_nargs=0
_shtab_jobmon_help___help_nargs=0
_shtab_jobmon_ack_pos_0_nargs=+
_shtab_jobmon_ack__h_nargs=0
_shtab_jobmon_ack___help_nargs=0
_shtab_jobmon_archive__h_nargs=0
_shtab_jobmon_archive___help_nargs=0
_shtab_jobmon_archive___checkpoint_nargs=0
_shtab_jobmon_completion__h_nargs=0
_shtab_jobmon_completion___help_nargs=0
_shtab_jobmon_health_pos_0_nargs='*'
_shtab_jobmon_health__h_nargs=0
_shtab_jobmon_health___help_nargs=0
_shtab_jobmon_health___json_nargs=0
_shtab_jobmon_inbox__h_nargs=0
_shtab_jobmon_inbox___help_nargs=0
_shtab_jobmon_mark__h_nargs=0
_shtab_jobmon_mark___help_nargs=0
_shtab_jobmon_mcp__h_nargs=0
_shtab_jobmon_mcp___help_nargs=0
_shtab_jobmon_mcp___allow_actions_nargs=0
_shtab_jobmon_patterns_list_pos_0_nargs='*'
_shtab_jobmon_patterns_list__h_nargs=0
_shtab_jobmon_patterns_list___help_nargs=0
_shtab_jobmon_patterns_list___json_nargs=0
_shtab_jobmon_patterns_check__h_nargs=0
_shtab_jobmon_patterns_check___help_nargs=0
_shtab_jobmon_patterns_test__h_nargs=0
_shtab_jobmon_patterns_test___help_nargs=0
_shtab_jobmon_patterns_pos_0_nargs=A...
_shtab_jobmon_patterns__h_nargs=0
_shtab_jobmon_patterns___help_nargs=0
_shtab_jobmon_prune_pos_0_nargs='*'
_shtab_jobmon_prune__h_nargs=0
_shtab_jobmon_prune___help_nargs=0
_shtab_jobmon_prune___given_up_nargs=0
_shtab_jobmon_prune___messages_nargs=0
_shtab_jobmon_prune___history_nargs=0
_shtab_jobmon_prune___dry_run_nargs=0
_shtab_jobmon_prune___yes_nargs=0
_shtab_jobmon_replay_pos_0_nargs=+
_shtab_jobmon_replay__h_nargs=0
_shtab_jobmon_replay___help_nargs=0
_shtab_jobmon_test_alerts_pos_0_nargs='*'
_shtab_jobmon_test_alerts__h_nargs=0
_shtab_jobmon_test_alerts___help_nargs=0
_shtab_jobmon_verify__h_nargs=0
_shtab_jobmon_verify___help_nargs=0
_shtab_jobmon_verify___count_nargs=0
_shtab_jobmon_verify___size_nargs=0
_shtab_jobmon_verify___sha256_nargs=0
_shtab_jobmon_verify___json_nargs=0
_shtab_jobmon_where__h_nargs=0
_shtab_jobmon_where___help_nargs=0
_shtab_jobmon_why__h_nargs=0
_shtab_jobmon_why___help_nargs=0
_shtab_jobmon_why___json_nargs=0
_shtab_jobmon_pos_0_nargs=A...
_shtab_jobmon__h_nargs=0
_shtab_jobmon___help_nargs=0
_shtab_jobmon__V_nargs=0
_shtab_jobmon___version_nargs=0


# Custom Preamble
_jobmon_jobs() { compgen -W "$("${COMP_WORDS[0]}" completion jobs 2>/dev/null)" -- "$1"; }
_jobmon_jobs_or_files() { _jobmon_jobs "$1" || compgen -f -- "$1"; }
_jobmon_commands() { compgen -W "submit chain check run watch rerun restart group wait cancel status top show logs progress diagnose diff report web history digest nodes efficiency checkpoints restarts patrol handover notify mute note forget init connect test test-discord recover help ack archive completion health inbox mark mcp patterns prune replay test-alerts verify where why" -- "$1"; }

# End Custom Preamble

# $1=COMP_WORDS[1]
_shtab_compgen_files() {
  compgen -f -- $1  # files
}

# $1=COMP_WORDS[1]
_shtab_compgen_dirs() {
  compgen -d -- $1  # recurse into subdirs
}

# $1=COMP_WORDS[1]
_shtab_replace_nonword() {
  echo "${1//[^[:word:]]/_}"
}

# set default values (called for the initial parser & any subparsers)
_set_parser_defaults() {
  local subparsers_var="${prefix}_subparsers[@]"
  sub_parsers=${!subparsers_var-}

  local current_option_strings_var="${prefix}_option_strings[@]"
  current_option_strings=${!current_option_strings_var}

  completed_positional_actions=0

  _set_new_action "pos_$completed_positional_actions" true
}

# $1=action identifier
# $2=positional action (bool)
# set all identifiers for an action's parameters
_set_new_action() {
  current_action="${prefix}_$(_shtab_replace_nonword $1)"

  local current_action_compgen_var=${current_action}_COMPGEN
  current_action_compgen="${!current_action_compgen_var-}"

  local current_action_choices_var="${current_action}_choices[@]"
  current_action_choices="${!current_action_choices_var-}"

  local current_action_nargs_var="${current_action}_nargs"
  if [ -n "${!current_action_nargs_var-}" ]; then
    current_action_nargs="${!current_action_nargs_var}"
  else
    current_action_nargs=1
  fi

  current_action_args_start_index=$(( $word_index + 1 - $pos_only ))

  current_action_is_positional=$2
}

# Notes:
# `COMPREPLY`: what will be rendered after completion is triggered
# `completing_word`: currently typed word to generate completions for
# `${!var}`: evaluates the content of `var` and expand its content as a variable
#     hello="world"
#     x="hello"
#     ${!x} -> ${hello} -> "world"
_shtab_jobmon() {
  local completing_word="${COMP_WORDS[COMP_CWORD]}"
  local previous_word="${COMP_WORDS[COMP_CWORD-1]}"
  local completed_positional_actions
  local current_action
  local current_action_args_start_index
  local current_action_choices
  local current_action_compgen
  local current_action_is_positional
  local current_action_nargs
  local current_option_strings
  local sub_parsers
  COMPREPLY=()

  local prefix=_shtab_jobmon
  local word_index=0
  local pos_only=0 # "--" delimiter not encountered yet
  _set_parser_defaults
  word_index=1

  # determine what arguments are appropriate for the current state
  # of the arg parser
  while [ $word_index -ne $COMP_CWORD ]; do
    local this_word="${COMP_WORDS[$word_index]}"

    if [[ $pos_only = 1 || " $this_word " != " -- " ]]; then
      if [[ -n $sub_parsers && " ${sub_parsers[@]} " == *" $this_word "* ]]; then
        # valid subcommand: add it to the prefix & reset the current action
        prefix="${prefix}_$(_shtab_replace_nonword $this_word)"
        _set_parser_defaults
      fi

      if [[ " ${current_option_strings[@]} " == *" $this_word "* ]]; then
        # a new action should be acquired (due to recognised option string or
        # no more input expected from current action);
        # the next positional action can fill in here
        _set_new_action $this_word false
      fi

      if [[ "$current_action_nargs" != "*" ]] && \
         [[ "$current_action_nargs" != "+" ]] && \
         [[ "$current_action_nargs" != "?" ]] && \
         [[ "$current_action_nargs" != *"..." ]] && \
         (( $word_index + 1 - $current_action_args_start_index - $pos_only >= \
            $current_action_nargs )); then
        $current_action_is_positional && let "completed_positional_actions += 1"
        _set_new_action "pos_$completed_positional_actions" true
      fi
    else
      pos_only=1 # "--" delimiter encountered
    fi

    let "word_index+=1"
  done

  # Generate the completions

  COMPREPLY=()
  if [[ $pos_only = 0 && "$completing_word" == -* &&
        ( -z "$current_action_compgen" || "$current_action_is_positional" = true ) ]]; then
    # optional argument started: use option strings
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
      compgen -W "${current_option_strings[*]}" -- "$completing_word")
  elif [[ "$previous_word" =~ ^[0-9\&]*[\<\>]\>?$ ]]; then
    # handle redirection operators
    compopt -o filenames 2>/dev/null || : # bash>=4
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$completing_word")
  else
    # use choices & compgen
    local action_compgen_word="$completing_word"
    # handle tab-completing in the middle of a line (#248 <- #116)
    [[ -n "$current_action_compgen" && "$completing_word" == -* ]] && action_compgen_word=""
    [ -n "$current_action_compgen" ] && {
      [[ "$current_action_compgen" =~ _(file|dir|glob|FILE|DIR|GLOB)|File|Dir|Glob ]] &&
        compopt -o filenames 2>/dev/null || : # bash>=4
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
        "$current_action_compgen" "$action_compgen_word")
    }
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
      compgen -W "${current_action_choices[*]}" -- "$completing_word")
  fi

  if [[ ${#COMPREPLY[@]} = 0 ]]; then
    # native fallback matches are not necessarily filenames (e.g. variables)
    compopt +o filenames 2>/dev/null || : # bash>=4
  fi

  return 0
}

complete -o bashdefault -F _shtab_jobmon jobmon
_jobmon() {
  local i
  for ((i = 2; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[1]} ${COMP_WORDS[i]}" in
      "submit --backend"|"submit --job-config"|"submit --group"|"submit --restart"|"submit --restart-on"|"submit --max-restarts"|"submit --resume-arg"|"submit --checkpoint-dir") ((i++)) ;;
      "submit -h"|"submit --help"|"submit --sentinel"|"submit --no-agent"|"submit --checked"|"submit --set-aside") ;;
      "submit "*|*" --") COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); return ;;
    esac
  done
  _shtab_jobmon "$@"
}
complete -o bashdefault -F _jobmon jobmon
