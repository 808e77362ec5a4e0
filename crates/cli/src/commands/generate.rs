//! `diskproof generate DIR` (hidden): man pages, completions, schemas and the command reference, for packagers and xtask.

use super::completions::script;
use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::settings::keys::KEYS;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use record::printable::Shown as _;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

pub(crate) fn generate(folder: &Path) -> Result<Exit, Failure> {
    for (shell, name) in
        [(Shell::Bash, "diskproof.bash"), (Shell::Zsh, "_diskproof"), (Shell::Fish, "diskproof.fish")]
    {
        write(&folder.join("completions").join(name), &script(shell))?;
    }
    for (name, page) in man_pages()? {
        write(&folder.join("man").join(name), &page)?;
    }
    let experiment = serde_json::to_string_pretty(&spec::schema()).map_err(Failure::ours)? + "\n";
    write(&folder.join("schema/experiment.schema.json"), &experiment)?;
    write(&folder.join("schema/run.schema.json"), &report::schema().map_err(Failure::ours)?)?;
    write(
        &folder.join("schema/comparison.schema.json"),
        &report::comparison_schema().map_err(Failure::ours)?,
    )?;
    write(&folder.join("schema/history.schema.json"), &report::history_schema().map_err(Failure::ours)?)?;
    write(&folder.join("schema/cost.schema.json"), &report::cost_schema().map_err(Failure::ours)?)?;
    write(&folder.join("schema/prospect.schema.json"), &report::prospect_schema().map_err(Failure::ours)?)?;
    write(&folder.join("schema/choice.schema.json"), &report::choice_schema().map_err(Failure::ours)?)?;
    for (name, schema) in [("request", driver::request_schema()), ("event", driver::event_schema())] {
        let text = serde_json::to_string_pretty(&schema).map_err(Failure::ours)? + "\n";
        write(&folder.join(format!("schema/driver-{name}.schema.json")), &text)?;
    }
    write(&folder.join("docs/cli.md"), &reference())?;
    Ok(Exit::Fine)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::machine(format!("can't write {}: {e}", path.shown()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}

/// The program and its visible commands; the subcommands of a command follow it, under both names.
fn visible() -> (Command, Vec<(String, Command)>) {
    // without the commit, which would make every build differ
    let mut whole = Args::command().version(env!("CARGO_PKG_VERSION"));
    whole.build();
    let mut verbs = Vec::new();
    for verb in shown(&whole) {
        let name = verb.get_name().to_owned();
        let below = shown(&verb).into_iter().map(|below| (format!("{name} {}", below.get_name()), below));
        let below: Vec<(String, Command)> = below.collect();
        verbs.push((name, verb));
        verbs.extend(below);
    }
    (whole, verbs)
}

fn shown(command: &Command) -> Vec<Command> {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
    verbs.cloned().collect()
}

/// `diskproof.1`, and one page per command.
fn man_pages() -> Result<Vec<(String, String)>, Failure> {
    let (whole, verbs) = visible();
    let mut pages = vec![("diskproof.1".to_owned(), man_page(whole)?)];
    for (name, verb) in verbs {
        let name = format!("diskproof-{}", name.replace(' ', "-"));
        pages.push((format!("{name}.1"), man_page(verb.display_name(name))?));
    }
    Ok(pages)
}

fn man_page(command: Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    // With a date, every build would differ.
    clap_mangen::Man::new(command).date("").render(&mut page).map_err(Failure::ours)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// docs/cli.md: the `--help` of each command.
fn reference() -> String {
    let (mut whole, verbs) = visible();
    let mut text = String::from(
        "# Command reference\n\nLook up here what a command does and which flags it takes. Generated from the program by `make generate`; do not edit.\n\n",
    );
    section(&mut text, "diskproof", &mut whole);
    for (name, mut verb) in verbs {
        let name = format!("diskproof {name}");
        section(&mut text, &name, &mut verb);
    }
    text.push_str("## Environment\n\n| variable | setting |\n| --- | --- |\n");
    for key in KEYS {
        let _ = writeln!(text, "| `{}` | {} |", key.variable, key.help);
    }
    text.push_str("| `DISKPROOF_CONFIG` | read settings from this file only |\n");
    text
}

fn section(text: &mut String, name: &str, command: &mut Command) {
    let help = command.render_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = writeln!(text, "## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
}

#[cfg(test)]
mod tests {
    use super::{man_pages, visible};
    use std::collections::BTreeMap;

    #[test]
    fn man_pages_show_every_argument_and_every_option() {
        let pages: BTreeMap<String, String> = man_pages().unwrap().into_iter().collect();
        let mut arguments = 0;
        for (name, verb) in visible().1 {
            // without the escapes of roff
            let page = pages[&format!("diskproof-{}.1", name.replace(' ', "-"))].replace('\\', "");
            let (synopsis, options) = page.split_once(".SH OPTIONS").unwrap();
            for argument in verb.get_arguments().filter(|argument| !argument.is_hide_set()) {
                if let Some(long) = argument.get_long() {
                    assert!(page.contains(&format!("--{long}")), "{name}: --{long}");
                    continue;
                }
                let value = argument.get_value_names().and_then(|names| names.first());
                let shown =
                    format!("fI{}fR", value.map_or(argument.get_id().as_str(), |value| value.as_str()));
                assert!(synopsis.contains(&shown) && options.contains(&shown), "{name}: {shown}\n{page}");
                arguments += 1;
            }
        }
        assert!(arguments >= 15, "{arguments}");
    }
}
