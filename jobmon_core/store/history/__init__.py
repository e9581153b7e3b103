"""The history: a line for each ended run, in files that only grow, and an index over them.

    state/history/2026-11.HOST.jsonl   one `HistoryRecord` a line; each host writes its own files
    state/history/index.sqlite         what filters and totals need of each line, and where the line is

Several hosts must not append to one file, which NFS may garble (open(2)); readers merge the files. The lines
are the truth: the index is made from them, and made anew if it is damaged.
"""
