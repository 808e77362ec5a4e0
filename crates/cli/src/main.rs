//! `diskproof`: arguments, dispatch and exit codes, nothing else.

mod args;
mod commands;
mod exit;
mod formats;
mod output;
mod page;
mod parameters;
mod parquet;
mod progress;
mod settings;
mod signals;

use args::{Args, Verb};
use clap::Parser as _;
use clap::error::{ContextKind, ContextValue};
use exit::{Exit, Failure};
use settings::Settings;
use std::process::ExitCode;

/// The umask bits that diskproof adds: group and others may not write what it creates. Bits of the caller's umask stay.
const FORBIDDEN: rustix::fs::Mode = rustix::fs::Mode::from_raw_mode(0o022);

fn main() -> ExitCode {
    let callers = rustix::process::umask(FORBIDDEN);
    rustix::process::umask(callers | FORBIDDEN);
    let args = Args::try_parse().unwrap_or_else(|error| misused(&error));
    let outcome = std::panic::catch_unwind(|| dispatch(args));
    let exit = match outcome {
        Ok(Ok(exit)) => exit,
        Ok(Err(failure)) => {
            output::complain(&failure);
            failure.exit
        }
        Err(_) => {
            output::complain(&Failure::ours("a panic, described above"));
            Exit::Ours
        }
    };
    ExitCode::from(exit.code())
}

/// Prints the error of the arguments and ends. A file in place of a verb is what many try first.
fn misused(error: &clap::Error) -> ! {
    let typed = error.get(ContextKind::InvalidSubcommand);
    if let Some(ContextValue::String(file)) = typed
        && [".yaml", ".yml", ".fio"].iter().any(|end| file.ends_with(end))
    {
        let (job, file) = (file.ends_with(".fio"), record::printable::printable(file));
        let on = if job { " --on DIR" } else { "" };
        output::complain(&Failure::input(format!(
            "{file} is a file, not a command: `diskproof plan {file}{on}` shows what it would do, `diskproof run {file}{on}` does it"
        )));
        std::process::exit(i32::from(Exit::Input.code()));
    }
    error.exit()
}

fn dispatch(args: Args) -> Result<Exit, Failure> {
    let Args { global, verb } = args;
    let settings = Settings::load(&global, &verb.settings()).map_err(Failure::input);
    match verb {
        // These need no settings, so a broken configuration file doesn't stop them.
        Verb::New(new) => commands::new::new(&new),
        Verb::Completions(completions) => commands::completions::completions(&completions),
        Verb::EngineNative(worker) => commands::engine_native::engine_native(&worker.task),
        Verb::EngineCorpus(worker) => commands::engine_native::engine_corpus(&worker.task),
        Verb::Generate(generate) => commands::generate::generate(&generate.folder),
        Verb::Plan(plan) => commands::plan::plan(&plan, &settings?),
        Verb::Quick(quick) => commands::quick::quick(&quick, &settings?),
        Verb::Calibrate(calibrate) => commands::calibrate::calibrate(&calibrate, &settings?),
        Verb::Run(run) => commands::run::run(&run, &settings?),
        Verb::Create(args) => commands::create::create(&args, &settings?),
        Verb::Converge(args) => commands::create::converge(&args, &settings?),
        Verb::Verify(args) => commands::create::verify(&args, &settings?),
        Verb::Destroy(args) => commands::create::destroy(&args, &settings?),
        Verb::Login(args) => commands::create::login(&args, &settings?),
        Verb::Test(args) => commands::create::test(&args, &settings?),
        Verb::Resume(resume) => commands::resume::resume(&resume, &settings?),
        Verb::Show(show) => commands::show::show(&show, &settings?),
        Verb::Report(report) => commands::report::report(&report, &settings?),
        Verb::List(list) => commands::list::list(&list, &settings?),
        Verb::Import(import) => commands::import::import(&import, &settings?),
        Verb::Push(push) => commands::push::push(&push, &settings?),
        Verb::Pull(pull) => commands::pull::pull(&pull, &settings?),
        Verb::Search(search) => commands::search::search(&search, &settings?),
        Verb::Export(export) => commands::export::export(&export, &settings?),
        Verb::Compare(compare) => commands::compare::compare(&compare, &settings?),
        Verb::Gate(gate) => commands::gate::gate(&gate, &settings?),
        Verb::History(history) => commands::history::history(&history, &settings?),
        Verb::Tag(tag) => commands::tag::tag(&tag, &settings?),
        Verb::Choose(choose) => commands::choose::choose(&choose, &settings?),
        Verb::Cost(cost) => commands::cost::cost(&cost, &settings?),
        Verb::Judge(judge) => commands::judge::judge(&judge, &settings?),
        Verb::Undo(undo) => commands::undo::undo(&undo, &settings?),
        Verb::On(on) => commands::on::on(&on, &settings?),
        Verb::Machines(machines) => commands::machines::machines(&machines, &settings?),
        Verb::Job(job) => commands::job::job(&job.verb, &settings?),
        Verb::Driver(driver) => commands::driver::driver(&driver.verb, &settings?),
        Verb::Guests(guests) => commands::guests::guests(&guests, &settings?),
        Verb::Images(images) => commands::images::images(&images, &settings?),
        Verb::Devices(devices) => commands::devices::devices(&devices, &settings?),
        Verb::Claim(claim) => commands::claim::claim(&claim, &settings?),
        Verb::Unclaim(unclaim) => commands::claim::unclaim(&unclaim, &settings?),
        Verb::Lab(lab) => commands::lab::lab(&lab.verb, &settings?),
        Verb::Doctor(doctor) => commands::doctor::doctor(&doctor, &settings?),
        Verb::Node => commands::node::node(&settings?),
        Verb::Look => commands::look::look(&settings?),
    }
}
