use super::{InScript, NoJobFile, ScriptTrouble, from_script, is_script, variables};

/// Reads a script of which `MEM` is 8 GiB.
fn found(text: &str) -> Result<InScript, NoJobFile> {
    assert!(is_script(text), "{text}");
    from_script(text, &mut |name| (name == "MEM").then(|| "8g".to_owned()))
}

fn trouble(text: &str) -> (usize, ScriptTrouble) {
    let NoJobFile { line, why } = found(text).unwrap_err();
    (line, why)
}

#[test]
fn a_here_document_keeps_its_lines_and_gets_the_values_of_variables() {
    let text = "#!/bin/sh\nJOBS=4\nexport DEPTH=\"8\"\ncat >$F <<END\n[global]\nsize=$((MEM*2/1048576/$JOBS))m # $(none)\n\
                [a]\niodepth=${DEPTH}\nfilename_format=\\$jobnum\nEND\nfio $F\n";
    let script = found(text).unwrap();
    let job = "\n\n\n\n[global]\nsize=4096m # $(none)\n[a]\niodepth=8\nfilename_format=$jobnum\n\n\n";
    assert_eq!((script.text.as_str(), script.line), (job, 5));
    let pairs = [("JOBS", "4"), ("DEPTH", "8")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(script.set, pairs);
    assert_eq!(Vec::from_iter(variables(text)), ["MEM"]);
}

#[test]
fn a_quoted_delimiter_leaves_the_text_to_fio_and_tabs_may_stand_before_the_end() {
    let script = found("#!/bin/sh\nfio - <<-'EOF'\n\t[a]\n\tbs=${BS}\n\tEOF\n").unwrap();
    assert_eq!(script.text, "\n\n\t[a]\n\tbs=${BS}\n\n");
    assert_eq!(Vec::from_iter(variables("#!/bin/sh\nfio - <<'E'\n[a]\nbs=${BS}\nE\n")), ["BS"]);
}

#[test]
fn options_that_the_script_hands_to_fio_are_defaults_of_the_job_file() {
    let text = "#!/bin/sh\nJ=/tmp/j\nOPTS=\"$J --ioengine=io_uring --group_reporting \"\ncat >$J <<END\n[a]\nsize=1m\nEND\n\
                /usr/bin/fio --bs=\"8k\" --output=x --output-format=json $J\nrsync --size=4k\n";
    let script = found(text).unwrap();
    assert_eq!(script.options, ["--ioengine=io_uring", "--group_reporting", "--bs=8k"]);
    assert!(script.text.starts_with("[global]\nioengine=io_uring\ngroup_reporting\nbs=8k\n[a]\nsize=1m\n"));
    for word in ["--name=x", "--section=a", "--bs", "--client=h"] {
        let text = format!("#!/bin/sh\ntrue\nfio {word} - <<E\n[a]\nsize=1m\nE\n");
        let refused = matches!(word, "--name=x" | "--section=a" | "--bs");
        assert_eq!(found(&text).is_err(), refused, "{word}: options of the table are refused where all are");
    }
}

#[test]
fn what_only_a_shell_can_tell_is_refused_with_its_line() {
    let with = |line: &str| trouble(&format!("#!/bin/sh\nX=1\nX=2\nY=$(nproc)\nfio - <<E\n[a]\n{line}\nE\n"));
    let shell = |text: &str| (7, ScriptTrouble::Shell(text.to_owned()));
    assert_eq!(with("bs=$(cat x)"), shell("$(cat x)"));
    assert_eq!(with("bs=`cat x`"), shell("`cat x`"));
    assert_eq!(with("bs=${Z:-4k}"), shell("${Z:-4k}"));
    assert_eq!(with("bs=$1"), shell("$1"));
    assert_eq!(with("bs=$((1<<2))"), shell("$((1<<2))"));
    for name in ["X", "Y", "Z"] {
        assert_eq!(with(&format!("bs=${name}")), (7, ScriptTrouble::Unset(name.to_owned())));
    }
    assert_eq!(with("size=$((Z/2))"), (7, ScriptTrouble::Unset("Z".to_owned())));
}

#[test]
fn a_script_has_one_job_file_in_one_piece() {
    let job = |command: &str| format!("{command} <<E\n[a]\nsize=1m\nE\n");
    assert_eq!(trouble("#!/bin/sh\nfio --name=a --rw=read\n"), (1, ScriptTrouble::None));
    assert_eq!(trouble("#!/bin/sh\ncat <<E\nusage: [x]\nE\n").1, ScriptTrouble::None);
    let two = format!("#!/bin/sh\n{}{}", job("fio -"), job("fio -"));
    assert_eq!(trouble(&two), (2, ScriptTrouble::Several(vec![3, 7])));
    assert_eq!(trouble(&format!("#!/bin/sh\n{}", job("cat >>$F"))), (2, ScriptTrouble::Pieces));
    let more = format!("#!/bin/sh\n{}echo bs=4k >>$F\n", job("cat >$F"));
    assert_eq!(trouble(&more), (6, ScriptTrouble::Pieces));
    assert!(found(&format!("#!/bin/sh\n{}echo done >>log\n", job("cat >$F"))).is_ok());
    for (trouble, said) in [
        (ScriptTrouble::Several(vec![3, 7]), "a shell script with 2 job files, in lines 3, 7"),
        (
            ScriptTrouble::Unset("X".to_owned()),
            "`$X` has no value: the script doesn't set it to a plain text",
        ),
    ] {
        assert_eq!(trouble.to_string(), said);
    }
}

#[test]
fn a_job_file_is_no_script() {
    for text in ["[a]\nbs=4k\n", "#!/usr/bin/fio\n[a]\n", "# cat <<E\n[a]\nx=1<<2\n", "bs=4k\n[a]\n"] {
        assert!(!is_script(text), "{text}");
    }
}
