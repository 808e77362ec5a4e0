# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_diskproof_global_optspecs
    string join \n config= store= state= color= sudo= ssh-config= progress= q/quiet h/help V/version
end

function __fish_diskproof_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_diskproof_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_diskproof_using_subcommand
    set -l cmd (__fish_diskproof_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c diskproof -n "__fish_diskproof_needs_command" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_needs_command" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_needs_command" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_needs_command" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_needs_command" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_needs_command" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_needs_command" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_needs_command" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_needs_command" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_needs_command" -s V -l version -d 'Print version'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "quick" -d 'Measure the storage under a directory: about a minute, without root and without an experiment file'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "calibrate" -d 'Check the native engine against fio: both measure the same device or file system in turn'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "new" -d 'Write a commented experiment to start from'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "plan" -d 'Show what an experiment would do: matrix, order, time, bytes, space. Changes nothing'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "run" -d 'Run an experiment and answer its question'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "resume" -d 'Continue a run that was interrupted or has spent its budget: only the missing trials are run'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "create" -d 'Create the machines that an experiment\'s drivers create, and leave them there'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "converge" -d 'Create an experiment\'s machines where they aren\'t there, and provision them'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "verify" -d 'Run an experiment\'s trials on its created machines, and leave them there'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "destroy" -d 'Destroy the machines that `create`, `converge` or `verify` left'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "login" -d 'Open a shell on a created machine'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "test" -d 'Do all of it anew: destroy, create, converge, verify, destroy'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "show" -d 'Show the result of a run again'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "report" -d 'Write a run\'s result as one HTML file with pictures, or as a folder of pages of all runs'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "list" -d 'List all runs, or those of one experiment'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "import" -d 'Store results that fio, Bonnie++ or elbencho measured as a run: show, compare, gate and export work on it'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "push" -d 'Send a run to a registry, where others can pull it: names are replaced by pseudonyms'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "pull" -d 'Fetch a run from a registry: it is judged anew here, and compared like any other'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "search" -d 'Look for runs in a registry: by device, stack and workload'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "export" -d 'Write a run\'s result for a program or as a page'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "compare" -d 'Compare the cells of one run, or the same cells of two runs'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "gate" -d 'Check a run against its baseline, for CI: exit code 0 is no regression, 1 a regression, 5 undecided'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "history" -d 'Show the figures of an experiment run after run: which run made them worse, by how much, how sure'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "tag" -d 'Give a run a name, so that EXPERIMENT@NAME means it'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "choose" -d 'Choose the cheapest measured stack that meets your limits, with 95 % confidence, or say that none does'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "cost" -d 'Compute what the offers of a price list cost: per hour, month and year, and over a term. Needs no run'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "judge" -d 'Judge stored runs again with this version\'s rules, and show what changed'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "undo" -d 'Put back what a killed run left behind'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "on" -d 'Run any diskproof command on another machine, which needs only sshd'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "machines" -d 'Ask, command and wake many machines at once, which need only sshd'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "job" -d 'Share a run among many machines by a queue (Gearman, Slurm)'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "driver" -d 'Create machines and volumes by drivers: list the drivers, check one'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "guests" -d 'Make, list, start, stop, move and remove guests of libvirt on this and other machines'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "images" -d 'Keep images for guests on this and other machines'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "devices" -d 'List every disk: whether it is free, and why not'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "claim" -d 'Declare that a disk is yours and that diskproof may overwrite it'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "unclaim" -d 'Remove the claim of a disk'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "lab" -d 'Run a Debian guest with emulated disks: try an LVM cache or ZFS without risking a disk'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "doctor" -d 'Show what this machine can do: tools, privileges, kernel, clock, noise, the native engine\'s ceiling, settings'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "node" -d 'The agent process on the measured machine; speaks to its controller over stdio'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "look" -d 'What this machine lacks for the plan on standard input'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "engine-native" -d 'The native engine\'s worker process; performs the task in a file'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "engine-corpus" -d 'The corpus engine\'s worker process; performs the task in a file'
complete -c diskproof -n "__fish_diskproof_needs_command" -f -a "generate" -d 'Write man pages, completions, schema and command reference below a folder'
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l seconds -d 'Measured seconds per trial' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l rounds -d 'Rounds; each measures every workload once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l size -d 'Data per trial, e.g. 8g; default: what the storage writes in a third of --seconds, but at least 256m, and at most twice the memory and a quarter of the free space' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -l json -d 'Print every event as one line of JSON; the same as --progress json'
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand quick" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l iops -d 'Limit of the emulated volume, in IOPS, for reads and for writes' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l workload -d 'Only these workloads; repeatable' -r -f -a "randread-d1\t'Random reads of 4k, one at a time'
randread\t'Random reads of 4k, 16 in flight'
randwrite\t'Random writes of 4k, 16 in flight'
read\t'Sequential reads of 128k, 4 in flight'
mix\t'70 % reads, 30 % writes of 4k, random, 16 in flight'"
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l seconds -d 'Measured seconds per trial' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l rounds -d 'Rounds; each measures every workload once with each engine' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l size -d 'Data per trial, e.g. 512m; default: 128m on an emulated volume, 1g on a disk, as `quick` in a directory' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l rate-margin -d 'Difference of IOPS and bandwidth that still counts as agreement, in percent' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l latency-margin -d 'Difference of latencies that still counts as agreement, in percent' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l run -d 'Measure nothing: judge the trials of this run (its name, the beginning of it, or `latest`)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -l json -d 'Print the judgement as one JSON document, format diskproof.agreement/1.0 (docs/calibrate.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand calibrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -l kind -d 'The kind of volume in it' -r -f -a "emulated\t'Emulated volumes with IOPS limits (needs root)'
directory\t'An existing directory (needs no root)'
disks\t'Real disks that you have claimed (needs root, overwrites them)'"
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -l from -d 'Write an experiment that runs this fio job file in a directory' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand new" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l want -d 'With --choose: METRIC >= VALUE or METRIC <= VALUE, separated by commas; default: those of `until: { best: price }`' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l here -d 'Ask the machines behind ssh, too, and end with 3 if a machine lacks something that the plan needs. diskproof copies itself there first, as a run does'
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l choose -d 'Instead of the plan: rank the stacks by price, with what the model says of the limits; nothing is measured'
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -l json -d 'Print the plan and its forecast as JSON; with --choose one JSON document, format diskproof.prospect/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand plan" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l destroy -d 'When to destroy the machines that drivers created for the run' -r -f -a "always\t'In every case'
passing\t'If the run ended well and all expectations were met'
never\t'Not at all'"
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l copy-to -d 'Copy each finished trial there as it ends, so that another machine can go on with `resume --from`: s3://BUCKET/PREFIX, file:///FOLDER or none (DISKPROOF_COPY_TO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l provision -d 'Run every provisioning step again, also where nothing changed since the last time'
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l plain-http -d 'Speak http with a bucket on another machine: everybody on the way can read and change what is sent (DISKPROOF_PLAIN_HTTP=allow)'
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -l json -d 'Print every event as one line of JSON; the same as --progress json'
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l from -d 'Go on with a run that another machine copied there (`copy_to`): fetch it into this store first' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l copy-to -d 'Copy each finished trial there: s3://BUCKET/PREFIX, file:///FOLDER or none; default: where the run copies them (DISKPROOF_COPY_TO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l rounds -d 'Raise the budget of rounds; only for a run with `measure: until`, which stops when the result is sure enough' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l time -d 'Raise the budget of time for the whole run, e.g. 2h' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l written -d 'Raise the budget of bytes written by the whole run, e.g. 100g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l money -d 'Raise the budget of money for the whole run, in the currency of its prices' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l cost -d 'Old name of --money' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l take-over -d 'Go on although another controller has the run: that one is dead, or shall stop before its next trial'
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l plain-http -d 'Speak http with a bucket on another machine: everybody on the way can read and change what is sent (DISKPROOF_PLAIN_HTTP=allow)'
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l provision -d 'Run every provisioning step again, also where nothing changed since the last time'
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -l json -d 'Print every event as one line of JSON; the same as --progress json'
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand resume" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand create" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand converge" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -l json -d 'Print every event as one line of JSON; the same as --progress json'
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand verify" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand destroy" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l target -d 'The target; needed if there are several created machines' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand login" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l destroy -d 'When to destroy the machines at the end' -r -f -a "always\t'In every case'
passing\t'If the run ended well and all expectations were met'
never\t'Not at all'"
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -l json -d 'Print every event as one line of JSON; the same as --progress json'
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -l json -d 'Print one JSON document, the same as `export --json`'
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand show" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -s o -l output -d 'Where to write it; default: standard output, unless that is a terminal. A folder (DIR/) gets an overview and pages of 50 cells each' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -l chart -d 'Write one picture as SVG instead of the page' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -l all -d 'Write pages of all runs into this folder, with an index of the experiments; files of the same names there are replaced' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand report" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l experiment -d 'Only runs of this experiment' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l all -d 'Also runs that ended and measured nothing: refused, failed, or interrupted before the first trial was done'
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l live -d 'Instead of runs: the machines that drivers created, and whether they exist'
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -l json -d 'Print JSON'
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand list" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l name -d 'Name of the experiment; default: that of the first file or folder' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l stack -d 'All files are of this stack: the same job in several folders is repeated, not compared' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l memory -d 'Memory of the machine that measured, e.g. 64g: buffered reads of less data get a caveat' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l filesystem -d 'File system that was measured, e.g. ext4, btrfs, tmpfs' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -l json -d 'Print what was imported as one JSON document, format diskproof.import/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand import" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l keep -d 'Names to send as they are, with commas between them: hosts, serials, users, homes, addresses, or all' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l sign -d 'Sign the run by this ssh key; with a .pub file, the agent signs' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l credentials -d 'The file with credentials, as `docker login` writes it, or for S3 as ~/.aws/credentials; default: the files of docker and podman, and of AWS' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -s y -l yes -d 'Send without asking; needed where there is no terminal'
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l replace -d 'Replace another run that has this tag or prefix'
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l plain-http -d 'Speak http with a server on another machine: everybody on the way can read and change what is sent'
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -l json -d 'Print what was done as one JSON document, format diskproof.push/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand push" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l as -d 'Store it under this name; default: the name that it has there' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l allowed-signers -d 'Take only a run that somebody in this file has signed (ssh-keygen(1), ALLOWED SIGNERS); `none`: check no signature. Default: the setting allowed_signers' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l credentials -d 'The file with credentials, as `docker login` writes it, or for S3 as ~/.aws/credentials; default: the files of docker and podman, and of AWS' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l plain-http -d 'Speak http with a server on another machine: everybody on the way can read and change what is sent'
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -l json -d 'Print what was done as one JSON document, format diskproof.pull/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand pull" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l device -d 'Only runs on such a device: its model, with * and ?' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l stack -d 'Only runs with such a stack' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l workload -d 'Only runs with such a workload' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l like -d 'Say what differs from this run of yours' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l credentials -d 'The file with credentials, as `docker login` writes it, or for S3 as ~/.aws/credentials; default: the files of docker and podman, and of AWS' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l plain-http -d 'Speak http with a server on another machine: everybody on the way can read and change what is sent'
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -l json -d 'Print one JSON document, format diskproof.search/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand search" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -s o -l output -d 'Where to write it; default: standard output' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l json -d 'Write one JSON document, format diskproof.run/1.3 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l csv -d 'Write CSV, one row per cell and metric; a text that a spreadsheet would take for a formula gets an apostrophe'
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l csv-raw -d 'Write CSV without apostrophes: for programs, not for spreadsheets'
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l markdown -d 'Write the whole result as Markdown, for an issue or a wiki'
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l trials -d 'Write tidy CSV for programs, one row per trial and metric; a FILE that ends in .zst is compressed, one in .parquet is Parquet'
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l series -d 'Write tidy CSV for programs, one row per step of each trial\'s time series and of its devices\' counters'
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -l openmetrics -d 'Write OpenMetrics for the textfile collector of Prometheus\' node exporter; FILE is replaced as a whole'
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand export" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l of -d 'Only this metric (docs/metrics.md); repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l stack -d 'Only this stack; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l workload -d 'Only this workload; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l along -d 'Compare cells of one run that differ in this factor alone (`stack`, `workload` or a factor of the experiment), instead of the stacks of each workload' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -l json -d 'Print one JSON document, format diskproof.comparison/1.1 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand compare" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l baseline -d 'The baseline run; `EXPERIMENT@last` is the latest one before the checked run' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l margin -d 'How much worse figures may be: `rate`, `latency` (5 % each), `cpu` (10 %), `other`, a percentile as `p99`, or a metric; without a name: all of them. Repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l of -d 'Only this metric (docs/metrics.md); repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l stack -d 'Only this stack; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l workload -d 'Only this workload; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l undecided -d 'How an undecided comparison ends, instead of with exit code 5' -r -f -a "pass\t'No regression: exit code 0'
fail\t'A regression: exit code 1'"
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l junit -d 'Write the result as JUnit XML, one test case per cell and metric' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l summary -d 'Append the result to a file as Markdown' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l allow-missing -d 'Also pass if cells or figures of the baseline are missing from the run'
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l across-machines -d 'Also compare runs of different machines'
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -l json -d 'Print one JSON document, format diskproof.comparison/1.1 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l last -d 'How many of its latest runs' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l of -d 'Only this metric (docs/metrics.md); repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l stack -d 'Only this stack; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l workload -d 'Only this workload; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -l json -d 'Print one JSON document, format diskproof.history/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand history" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -l move -d 'Take the tag from the run of the same experiment that has it'
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -l remove -d 'Remove the tag from the run'
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand tag" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l want -d 'What a stack must do: METRIC >= VALUE or METRIC <= VALUE, separated by commas (docs/metrics.md)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l by -d 'What to minimise' -r -f -a "price\t'The price of the volumes'"
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l workload -d 'Only this workload; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -l json -d 'Print one JSON document, format diskproof.choice/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand choose" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l for -d 'The time to pay for, e.g. 8760h, 3y, 36 months, 10m; default: the longest term of the offers, or a year' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l size -d 'Size of a volume, for offers that don\'t name one, e.g. 500g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l iops -d 'Provisioned IOPS, for offers that don\'t name them' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l throughput -d 'Provisioned bytes per second, for offers that don\'t name them, e.g. 250m' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -l json -d 'Print one JSON document, format diskproof.cost/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand cost" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -l all -d 'All stored runs'
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -l json -d 'Print one JSON document, format diskproof.judge/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand judge" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -l give-up -d 'A disk that never comes back, by name or serial number: what diskproof wrote on it stays there. A disk that is present is undone. Or a claim of created machines, by its id: it ends, also if its driver can\'t destroy what it has' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -l all -d 'Also the machines that `diskproof create` made and that were to stay'
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand undo" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -l root -d 'Become root there by sudo'
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand on" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "list" -d 'List the machines of the inventory. Connects to none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "status" -d 'Show which machines are on, and their CPUs, memory, load, guests, unused disks and diskproof\'s leftovers'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "run" -d 'Run a command on machines, at the same time'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "wake" -d 'Wake machines by their network cards, and wait until ssh answers'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "doctor" -d 'Run `diskproof doctor` on machines'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "devices" -d 'Run `diskproof devices` on machines, as root where sudo needs no password'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "undo" -d 'Run `diskproof undo` on machines'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "shell" -d 'Open a shell on a machine'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "get" -d 'Copy a file from machines; a copy that broke off goes on where it was'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "put" -d 'Copy a file to machines; a copy that broke off goes on where it was'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "tunnel" -d 'Forward ports of this machine through a machine, until Ctrl-C; it connects again by itself'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "mount" -d 'Mount a folder of a machine here by sshfs'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "leftovers" -d 'List what runs left at providers: machines and volumes of any diskproof, with their price per day'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and not __fish_seen_subcommand_from list status run wake doctor devices undo shell get put tunnel mount leftovers watch" -f -a "watch" -d 'Look at machines regularly, and run a program when one dies, comes back, or has a run that hangs or nears its deadline'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l resolve -d 'Show where ssh connects to (`ssh -G`)'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -l json -d 'Print one line of JSON per machine'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l watch -d 'Ask again and again, with this time between: 2s, 1m' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -l json -d 'Print one line of JSON per machine, as they answer (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l timeout -d 'End it on a machine after this time: 30s, 5m; default: no limit' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -s b -l fold -d 'Show machines with the same output together, when all have ended'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l root -d 'Run it as root, by `sudo -n` where the user isn\'t root'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -l json -d 'Print one line of JSON per machine, as it ends'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l timeout -d 'How long to wait for ssh' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l broadcast -d 'Where to send the packet; default: the broadcast address of every network that this machine is in, port 9' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -l no-wait -d 'Send the packet and don\'t wait'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from wake" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -l json -d 'Print one line of JSON per machine, with what the command prints there by `--json`'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from doctor" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -l json -d 'Print one line of JSON per machine, with what the command prints there by `--json`'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from devices" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -l json -d 'Print one line of JSON per machine, with what the command prints there by `--json`'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from undo" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from shell" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from put" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from tunnel" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l end -d 'Unmount it' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from mount" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -l json -d 'Print JSON'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from leftovers" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l every -d 'The time between two looks' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l alert -d 'The program that gets the alerts; default: they are printed only' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l misses -d 'How many times in succession a machine must be missed before that is an alert' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l stalled -d 'How long a run may change nothing on a machine before that is an alert' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l deadline -d 'How long before a run\'s time budget is spent there is an alert, if the run isn\'t done by then' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l known -d 'The file that keeps what is known; default: watch.json in the folder of --state' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -l once -d 'Look once'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand machines; and __fish_seen_subcommand_from watch" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -f -a "make" -d 'Cut a run into blocks, and print each on a line'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -f -a "run" -d 'Measure one block on this machine, and deliver each trial as it ends'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -f -a "submit" -d 'Submit an experiment\'s blocks to a queue, or the missing blocks of a run'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -f -a "work" -d 'Take blocks from a Gearman server, and measure one after the other'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -f -a "receive" -d 'Store results from standard input; the measuring machines start this command over ssh'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and not __fish_seen_subcommand_from make run submit work receive collect" -f -a "collect" -d 'Store results from files that `job run --results` wrote'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l blocks -d 'Number of blocks, which is the number of rounds; default: the experiment\'s `rounds`' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l to -d 'Send results to the store of this machine; DEST is its ssh address for the measuring machines. Default: each of them needs --results' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -s o -l output -d 'Where to write the blocks; default: standard output' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from make" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -l nth -d 'Which line has the block, from 0; needed if there are several' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -l results -d 'Write results to a file in this folder, or to standard output (`-`); default: send them to the machine that the block names' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l on -d 'Where a fio job file runs: an existing directory, or a claimed disk by its name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l size -d 'Room for all files of a job file that leaves their size to the device, e.g. 8g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l set -d 'Set a parameter of the experiment, a ${NAME} of the job file, or TARGET.KEY of a driver\'s target; repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l seed -d 'Seed of every random choice; default: the file\'s, else one from the clock' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l blocks -d 'Number of blocks, which is the number of rounds; default: the experiment\'s `rounds`' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l to -d 'Send results to the store of this machine; DEST is its ssh address for the measuring machines. Default: each of them needs --results' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l gearman -d 'A Gearman server' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l program -d 'Path of diskproof on the measuring machines; default: its path here' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l results -d 'With --slurm and --kubernetes: the folder for the results, by its path on the measuring machines' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l slurm -d 'The Slurm cluster of this machine'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l kubernetes -d 'Print a manifest for Kubernetes. It is untested'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -l dry-run -d 'With --slurm: print the job\'s script and submit nothing; with --gearman: print the blocks'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from submit" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l gearman -d 'The Gearman server' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l results -d 'Write results to files in this folder; default: send them to the machine that the blocks name' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -l until-empty -d 'End when no block is left; default: wait for more'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from work" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from receive" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from receive" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from receive" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from receive" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from receive" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from receive" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from receive" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from receive" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from receive" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from collect" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from collect" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from collect" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from collect" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from collect" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from collect" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from collect" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from collect" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand job; and __fish_seen_subcommand_from collect" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -f -a "list" -d 'List the built-in drivers and those on the PATH'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and not __fish_seen_subcommand_from list check" -f -a "check" -d 'Check that a driver keeps to the protocol; it creates machines and destroys them again'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l settings -d 'Settings of a machine that the driver can create: YAML or JSON' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l limit -d 'The longest time of one request, e.g. 20m' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -l json -d 'Print JSON'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand driver; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "list" -d 'List guests: state, processors, memory'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "build" -d 'Make a guest from an image, start it, and wait until it answers ssh'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "create" -d 'Make a guest from a JSON description in the shape of SmartOS\'s vmadm'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "validate" -d 'Check a description for `create`; make nothing'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "start" -d 'Start guests'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "stop" -d 'Ask guests to stop, and wait until they are off'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "reboot" -d 'Tell guests to reboot, and don\'t wait for them'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "destroy" -d 'Remove guests that diskproof made, with their disks'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "migrate" -d 'Move running guests to another machine while they run'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "console" -d 'Connect to a guest\'s serial console; ^] ends it'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "viewer" -d 'Print the URI of a guest\'s screen, and open it if remote-viewer is installed'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "shell" -d 'Open a shell in a guest that diskproof made, or run a command there'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and not __fish_seen_subcommand_from list build create validate start stop reboot destroy migrate console viewer shell ssh-config" -f -a "ssh-config" -d 'Print lines for ~/.ssh/config, so that ssh and diskproof reach guests by name'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -l json -d 'Print one line of JSON per guest (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l on -d 'The machine that it runs on' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l wait -d 'How long to wait for ssh' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l image -d 'The image: a name, the beginning of a digest, or a UUID' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l size -d 'Size of its disk; default: that of the image' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l memory -d 'Memory in MiB' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l vcpus -d 'Virtual processors' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l key -d 'A public key that gets in as root; repeatable. Default: your own keys in ~/.ssh' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l first-boot -d 'A script that runs once, as root, at the end of the first boot' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l network -d 'A network of libvirt, or bridge:NAME' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l emulate -d 'Have QEMU emulate its processors, also where there is KVM: about ten times as slow'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l json -d 'Print one line of JSON when it is done (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l full-copy -d 'Copy the image; default: a disk that is a layer over it'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -l autostart -d 'Start it whenever its machine starts'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from build" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -s f -l file -d 'The description' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l on -d 'The machine that it runs on' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l wait -d 'How long to wait for ssh' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l emulate -d 'Have QEMU emulate its processors, also where there is KVM: about ten times as slow'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -l json -d 'Print one line of JSON when it is done (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -s f -l file -d 'The description' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from start" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l timeout -d 'How long to wait' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -l force -d 'Switch them off at once; what they haven\'t written is lost'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from reboot" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -s y -l yes -d 'Don\'t ask'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from destroy" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from migrate" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from console" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -l print -d 'Print the URI, and don\'t open it'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from viewer" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from shell" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand guests; and __fish_seen_subcommand_from ssh-config" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -f -a "avail" -d 'List what `build` can make. Connects to none'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -f -a "import" -d 'Take an image from a file, a directory, a URL or a registry'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -f -a "push" -d 'Send an image of this machine to a registry'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -f -a "list" -d 'List the images of machines'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -f -a "build" -d 'Make an image of Debian from its packages on this machine, and take it to machines'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and not __fish_seen_subcommand_from avail import push list build remove" -f -a "remove" -d 'Remove images that no guest needs'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -l json -d 'Print one line of JSON per image'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from avail" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l on -d 'Which machines; default: all of the list, or this one' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l name -d 'Its name; default: the file\'s, or the one that it has in the registry' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l sha256 -d 'The SHA-256 that its disk must have' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l credentials -d 'The file with credentials, as `docker login` writes it, or for S3 as ~/.aws/credentials; default: the files of docker and podman, and of AWS' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -l plain-http -d 'Speak http with a server on another machine: everybody on the way can read and change what is sent'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l credentials -d 'The file with credentials, as `docker login` writes it, or for S3 as ~/.aws/credentials; default: the files of docker and podman, and of AWS' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -s y -l yes -d 'Send without asking; needed where there is no terminal'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l replace -d 'Replace something else that has this tag'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l plain-http -d 'Speak http with a server on another machine: everybody on the way can read and change what is sent'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -l json -d 'Print what was done as one JSON document, format diskproof.image-push/1.0 (docs/formats.md)'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from push" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l on -d 'Which machines; default: all of the list, or this one' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -l json -d 'Print one line of JSON per image'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l on -d 'Which machines; default: all of the list, or this one' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l mirror -d 'The mirror of the packages; default: the one that apt uses here' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from build" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l on -d 'Which machines; default: all of the list, or this one' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l machines -d 'A list of machines or an Ansible inventory; repeatable. `ansible:FILE` has ansible-inventory read it (DISKPROOF_MACHINES)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l fanout -d 'Most machines at once' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand images; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -l json -d 'Print JSON'
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand devices" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l yes-i-own -d 'The disk\'s serial number; diskproof then doesn\'t ask you to type it' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l overwrite-data -d 'Claim the disk although it holds data; the first run overwrites that data'
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -l unseen-processes -d 'Confirm that this disk isn\'t used by processes that diskproof can\'t see (outside of its container, or with more rights)'
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand claim" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand unclaim" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand unclaim" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand unclaim" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand unclaim" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand unclaim" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand unclaim" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand unclaim" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand unclaim" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand unclaim" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -f -a "build" -d 'Build the image if there is none yet; start no guest'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -f -a "up" -d 'Start a guest; a running guest keeps running and gets the disks that it lacks'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -f -a "status" -d 'List the guests with their state and disks'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -f -a "ssh" -d 'Run a command in a guest as root, or a shell if none is given'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -f -a "limit" -d 'Change a disk\'s limits at once'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -f -a "reset" -d 'Replace a guest by a fresh one with fresh disks of the same kinds'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and not __fish_seen_subcommand_from build up status ssh limit reset down" -f -a "down" -d 'Stop a guest and remove its disks'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -l mirror -d 'Debian\'s mirror; default: the one that apt uses on this machine (DISKPROOF_LAB_MIRROR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -l without-zfs -d 'Build without ZFS; its kernel modules take minutes to compile, once'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from build" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l name -d 'The guest' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l memory -d 'The guest\'s memory, e.g. 2g' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l cpus -d 'The guest\'s processors' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l port -d 'The port on 127.0.0.1 that is forwarded to the guest\'s ssh server; default: a free one' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l mirror -d 'Debian\'s mirror; default: the one that apt uses on this machine (DISKPROOF_LAB_MIRROR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l disk -d 'An emulated disk, e.g. d1:size=1g,iops=80 (all keys: docs/lab.md); repeatable' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -l without-zfs -d 'Build without ZFS; its kernel modules take minutes to compile, once'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from up" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -l name -d 'Only this guest' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -l json -d 'Print JSON'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -l name -d 'The guest' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from ssh" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -l name -d 'The guest' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from limit" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -l name -d 'The guest' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from reset" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l name -d 'The guest' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l all -d 'All guests'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -l images -d 'All guests, and everything that was built: images, modules, saved states'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand lab; and __fish_seen_subcommand_from down" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l json -d 'Print JSON'
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l no-noise -d 'Don\'t measure the machine\'s noise (2 seconds)'
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -l no-ceiling -d 'Don\'t measure the native engine\'s highest rate here (3 seconds); show the stored one'
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand completions" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand completions" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand completions" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand completions" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand completions" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand completions" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand completions" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand completions" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand completions" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand node" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand node" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand node" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand node" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand node" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand node" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand node" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand node" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand node" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand look" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand look" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand look" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand look" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand look" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand look" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand look" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand look" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand look" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-native" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-native" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-native" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-native" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-native" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-native" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-native" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-native" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-native" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-corpus" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-corpus" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-corpus" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-corpus" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-corpus" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-corpus" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-corpus" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-corpus" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand engine-corpus" -s h -l help -d 'Print help'
complete -c diskproof -n "__fish_diskproof_using_subcommand generate" -l config -d 'Read settings from this file only (DISKPROOF_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand generate" -l store -d 'The database of results (DISKPROOF_STORE)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand generate" -l state -d 'The folder of journals, claims, locks and backing files (DISKPROOF_STATE)' -r -f -a "(__fish_complete_directories)"
complete -c diskproof -n "__fish_diskproof_using_subcommand generate" -l color -d 'Colours: auto, always or never (DISKPROOF_COLOR)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand generate" -l sudo -d 'auto: become root by `sudo -n` where needed; never: don\'t (DISKPROOF_SUDO)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand generate" -l ssh-config -d 'The file that ssh reads instead of ~/.ssh/config (DISKPROOF_SSH_CONFIG)' -r -F
complete -c diskproof -n "__fish_diskproof_using_subcommand generate" -l progress -d 'How a run shows its progress: auto, live, blank, lines, json or none (DISKPROOF_PROGRESS)' -r
complete -c diskproof -n "__fish_diskproof_using_subcommand generate" -s q -l quiet -d 'The same as --progress none'
complete -c diskproof -n "__fish_diskproof_using_subcommand generate" -s h -l help -d 'Print help'
